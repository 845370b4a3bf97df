"""What is wrong for as long as it lasts: feeds that are down, bots that are silent. Told when it begins and ends."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS
from notices.notice_format import exchange_name
from session.notices import Notice, NoticeKind
from session.session import Session
from store.queries.notice_events import CurrentState

DOWN_SECONDS = 15
"""How long a feed is down, or a bot silent, before people are bothered: a reconnection or restart takes less."""
SILENT_SECONDS = 7
"""After its lease ran out, a bot has been silent for ten."""
STARTING_SECONDS = 120
"""A session starts its feeds and bots beside the notifier: what was never seen well is not called down before."""


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that is wrong now; `key` names it for as long as it lasts."""

    key: str
    kind: NoticeKind
    event: str
    exchange: str
    line: str
    facts: Mapping[str, str] = field(default_factory=dict)
    is_meant: bool = False
    """A user stopped it: nobody has to be told, and it is not well either."""


def faults_now(present: CurrentState, session: Session, now: int) -> list[Alert]:
    """Of the exchanges that the session trades on; `now` by this machine's clock, feeds are told by it."""
    return [*_feed_faults(present, session, now), *_bot_faults(present, session)]


def _feed_faults(present: CurrentState, session: Session, now: int) -> Iterable[Alert]:
    markets = {(market.exchange, market.symbol) for market in session.markets}
    down: dict[str, list[str]] = {}
    for feed in present.feeds:
        seen = feed.as_seen(now, session.stale_after_ms)
        if seen.status == "down" and (feed.exchange, feed.symbol) in markets:
            down.setdefault(feed.exchange, []).append(feed.symbol)
    for exchange, symbols in sorted(down.items()):
        names = ", ".join(sorted(symbols))
        yield Alert(
            key=f"feed:{exchange}",
            kind="venues",
            event="feed_down",
            exchange=exchange,
            line=f"{exchange_name(exchange)} FEED DOWN: no prices of {names}",
            facts={"exchange": exchange, "symbols": names},
            is_meant=("feed", exchange) in present.stopped,
        )


def _bot_faults(present: CurrentState, session: Session) -> Iterable[Alert]:
    now = present.counters.now
    leases = {lease.exchange: lease for lease in present.leases}
    for exchange in dict.fromkeys(market.exchange for market in session.traded):
        lease = leases.get(exchange)
        if lease is None or lease.until + SILENT_SECONDS * MICROSECONDS < now:
            yield Alert(
                key=f"bot:{exchange}",
                kind="bots",
                event="bot_down",
                exchange=exchange,
                line=f"BOT DOWN on {exchange_name(exchange)}: nothing is traded or unwound there",
                facts={"exchange": exchange},
                is_meant=("bot", exchange) in present.stopped,
            )


@dataclass(slots=True)
class AlertWatch:
    """Tells what begins and ends, each once. `standing`: key → since when it was told to be wrong."""

    begun_at: int
    standing: dict[str, int] = field(default_factory=dict)
    _seen_since: dict[str, int] = field(default_factory=dict)
    _seen_well: set[str] = field(default_factory=set)

    def look(self, faults: Iterable[Alert], exchanges: Iterable[str], now: int) -> list[Notice]:
        """What is to be told at `now`; `exchanges` are those that `faults` speaks of."""
        holding = {fault.key: fault for fault in faults}
        for exchange in exchanges:
            self._seen_well |= {f"feed:{exchange}", f"bot:{exchange}"} - set(holding)
        self._seen_since = {
            key: now if fault.is_meant else self._seen_since.get(key, now) for key, fault in holding.items()
        }
        told = [self._ended(key, now) for key in sorted(set(self.standing) - set(holding))]
        for key, fault in sorted(holding.items()):
            if key not in self.standing and self._is_lasting(key, now):
                self.standing[key] = now
                told.append(_begun(fault, now))
        return told

    def _is_lasting(self, key: str, now: int) -> bool:
        is_starting = key not in self._seen_well and now - self.begun_at < STARTING_SECONDS * MICROSECONDS
        return not is_starting and now - self._seen_since[key] >= DOWN_SECONDS * MICROSECONDS

    def _ended(self, key: str, now: int) -> Notice:
        since = self.standing.pop(key)
        what, _, exchange = key.partition(":")
        kind: NoticeKind = "venues" if what == "feed" else "bots"
        line = "prices again" if what == "feed" else "its bot is back"
        return Notice(
            notice_id=f"{key}:{since}:back",
            kind=kind,
            event=f"{what}_back",
            at=now,
            line=f"{exchange_name(exchange)}: {line} after {(now - since) // MICROSECONDS} s",
            facts={"exchange": exchange, "since": str(since)},
        )


def _begun(fault: Alert, now: int) -> Notice:
    return Notice(f"{fault.key}:{now}:down", fault.kind, fault.event, now, fault.line, fault.facts)
