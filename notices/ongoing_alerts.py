"""Ongoing alerts: feeds that are down, bots without a heartbeat. One notice at the start and one at the end."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from exchanges.labels import exchange_name
from market.time_units import MICROSECONDS
from runtime.disk_space import megabytes
from session.notice_destinations import NoticeKind
from session.session import Session
from store.queries.notice_events import CurrentState
from store.records.notice import Notice

DOWN_SECONDS = 15
"""Minimum duration of an alert before a notice is sent: a reconnection or restart takes less."""
SILENT_SECONDS = 7
"""An expired lease means ten seconds without a heartbeat already."""
STARTING_SECONDS = 120
"""Feeds and bots start at the same time as the notifier: one that was never healthy is not reported as down before
this."""


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert; `key` identifies it while it lasts."""

    key: str
    kind: NoticeKind
    event: str
    exchange: str
    line: str
    facts: Mapping[str, str] = field(default_factory=dict)
    is_meant: bool = False
    """A user stopped it: no notice, but it is not healthy either."""


def faults_now(present: CurrentState, session: Session, now: int, free: int | None = None) -> list[Alert]:
    """Return the alerts of the session's exchanges, and of its disk; `now` by this machine's clock, as for feeds.
    `free`: bytes; None if it is not known."""
    return [*_feed_faults(present, session, now), *_bot_faults(present, session), *_disk_fault(session, free)]


def _disk_fault(session: Session, free: int | None) -> Iterable[Alert]:
    level = "enough" if free is None else session.upkeep.disk.level(free)
    if free is not None and level != "enough":
        yield Alert(
            key="disk:",
            kind="limits",
            event="disk_low",
            exchange="",
            line=f"DISK LOW: {megabytes(free)} free; "
            f"below {megabytes(session.upkeep.disk.reduce)} nothing new is traded",
            facts={"free": str(free), "level": level},
        )


def _feed_faults(present: CurrentState, session: Session, now: int) -> Iterable[Alert]:
    markets = {(market.exchange, market.symbol) for market in session.fed_markets(present.settings)}
    down: dict[str, list[str]] = {}
    for feed in present.feeds:
        seen = feed.as_seen(now, session.stale_after_ms)
        if seen.status == "down" and (feed.exchange, feed.symbol) in markets:
            down.setdefault(feed.exchange, []).append(feed.symbol)
    for exchange, symbols in sorted(down.items()):
        names = ", ".join(sorted(symbols))
        yield Alert(
            key=f"feed:{exchange}",
            kind="exchanges",
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
    """Turns alerts into notices, one at the start and one at the end. `ongoing`: key → time of its notice."""

    begun_at: int
    ongoing: dict[str, int] = field(default_factory=dict)
    _first_seen: dict[str, int] = field(default_factory=dict)
    _seen_healthy: set[str] = field(default_factory=set)

    def update(self, faults: Iterable[Alert], exchanges: Iterable[str], now: int) -> list[Notice]:
        """Return the notices at `now`; `exchanges`: those that `faults` covers."""
        holding = {fault.key: fault for fault in faults}
        for exchange in exchanges:
            self._seen_healthy |= {f"feed:{exchange}", f"bot:{exchange}"} - set(holding)
        # it does not start with the session
        self._seen_healthy.add("disk:")
        self._first_seen = {
            key: now if fault.is_meant else self._first_seen.get(key, now) for key, fault in holding.items()
        }
        notices = [self._ended(key, now) for key in sorted(set(self.ongoing) - set(holding))]
        for key, fault in sorted(holding.items()):
            if key not in self.ongoing and self._is_lasting(key, now):
                self.ongoing[key] = now
                notices.append(_begun(fault, now))
        return notices

    def _is_lasting(self, key: str, now: int) -> bool:
        is_starting = key not in self._seen_healthy and now - self.begun_at < STARTING_SECONDS * MICROSECONDS
        return not is_starting and now - self._first_seen[key] >= DOWN_SECONDS * MICROSECONDS

    def _ended(self, key: str, now: int) -> Notice:
        since = self.ongoing.pop(key)
        what, _, exchange = key.partition(":")
        if what == "disk":
            return Notice(f"{key}:{since}:back", "limits", "disk_back", now, "DISK: there is room again")
        kind: NoticeKind = "exchanges" if what == "feed" else "bots"
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
