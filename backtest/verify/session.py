"""Verifies a recorded session: recomputes all of it and stops at the first difference."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from backtest.verify.app_versions import app_difference
from backtest.verify.cycle_decisions import CycleDecisions
from backtest.verify.cycles import CycleComparison
from backtest.verify.decisions import Decisions
from backtest.verify.errors import CannotVerifyError
from backtest.verify.feeds import feed_difference
from backtest.verify.first_difference import NOTHING, FirstDifference, first_unlike
from backtest.verify.opportunities import Derived, Key, Pair, Recorded, derived_values, is_opportunity, key_of
from backtest.verify.recorded_session import RecordedSession
from backtest.verify.settings import settings_difference
from backtest.verify.signals import by_id, order_difference, signal_difference
from bots.decide.reserver import NO_DECIDER
from cep.apps.hosts.average_app import shipped_average_app
from market.instruments.orders import Fill
from market.money import ZERO, decimal_of
from market.prices.cycle_opportunities import CycleOpportunity
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Rejection, TradeOfLegs
from market.trade.reservation_state import fill_key
from streams.message_format import WireError, row_of
from tick_sets.sets.tick_set import TickSet

Derive = Callable[[TickSet], Iterable[tuple[str, int, bytes]]]
"""The messages (base, offset, value) that the log of a tick set leads to, in the order of each base."""


@dataclass(slots=True)
class Verified:
    """Counts of what was recomputed, and the first difference."""

    ticks: int = 0
    """Ticks compared with the feeds' own recordings."""
    opportunities: int = 0
    cycles: int = 0
    rejections: int = 0
    signals: int = 0
    arbitrages: int = 0
    cycle_trades: int = 0
    steps: int = 0
    older: Counter[str] = field(default_factory=Counter)
    """Documents of an earlier version, without their decision context."""
    difference: FirstDifference | None = None


def verified(session: RecordedSession, derive: Derive, others: Sequence[RecordedSession] = ()) -> Verified:
    """Verify the session. `others`: the logs of its other regions. Each log is derived by itself; a decision must
    follow from an opportunity of one of them. Raises CannotVerifyError."""
    outcome = Verified()
    try:
        outcome.difference = next(filter(None, _differences(session, others, derive, outcome)), None)
    except (WireError, KeyError) as error:
        raise CannotVerifyError(f"{session.folder}: holds a row that cannot be read ({error})") from error
    return outcome


def _differences(
    session: RecordedSession, others: Sequence[RecordedSession], derive: Derive, outcome: Verified
) -> Iterator[FirstDifference | None]:
    """Return the differences of all checks in order; each relies on the results of the earlier ones."""
    yield _kept_difference(session)
    versions, referenced, found = list(session.settings()), _Referenced.of(session), _Found()
    traded_cycles = {kept.trade.trade_id for kept in session.cycles()}
    for one in (session, *others):
        tick_set = one.tick_set()
        ticks, difference = feed_difference(one.folder.parent, tick_set)
        outcome.ticks += ticks
        yield difference
        yield settings_difference(tick_set, versions)
        recorded, derived = _recorded(one, referenced.opportunities), Derived(referenced.opportunities)
        yield _opportunity_difference(one, derive(tick_set), recorded, derived)
        outcome.opportunities += derived.count
        found.add(recorded, derived)
        cycles = CycleComparison(traded_cycles)
        yield cycles.difference(one, tick_set)
        outcome.cycles += cycles.count
        found.cycles |= cycles.found
    yield app_difference(versions)
    decisions = Decisions(
        session.markets, {version.version: version.after for version in versions}, found.opportunities, found.times
    )
    yield from _rejection_differences(session, decisions, outcome)
    yield _count_difference(session, found.messages)
    cycle_decisions = CycleDecisions(decisions.settings, found.cycles)
    yield from _trade_differences(session, decisions, cycle_decisions, outcome)
    yield from _signal_differences(session, outcome)


def _kept_difference(session: RecordedSession) -> FirstDifference | None:
    """Check the document counts of the export, because no other check would miss a deleted document."""
    for name, kept in session.head.kept.items():
        found = session.count(name)
        if found != kept:
            return FirstDifference(name, "lines", found, kept)
    return None


@dataclass(slots=True)
class _Referenced:
    """The opportunities that decisions refer to; all others need not be kept in memory."""

    opportunities: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, session: RecordedSession) -> "_Referenced":
        referenced = cls()
        for rejection in session.rejections():
            referenced.opportunities.add(rejection.opportunity_id)
        for kept in session.arbitrages():
            opportunity = kept.arbitrage.opportunity
            referenced.opportunities.add(opportunity.opportunity_id)
        return referenced


@dataclass(slots=True)
class _Found:
    """What all logs of the session have led to. The same id at the same row of two logs is about the same quotes."""

    opportunities: dict[Key, Opportunity] = field(default_factory=dict)
    times: dict[Key, list[int]] = field(default_factory=dict)
    messages: Counter[Pair] = field(default_factory=Counter)
    cycles: dict[str, CycleOpportunity] = field(default_factory=dict)
    """Those that were traded."""

    def add(self, recorded: Recorded, derived: Derived) -> None:
        self.opportunities |= derived.found
        for key, times in recorded.times.items():
            self.times.setdefault(key, []).extend(times)
        self.messages += recorded.messages


def _recorded(session: RecordedSession, wanted: set[str]) -> Recorded:
    recorded, last = Recorded(), session.head.span.last
    for message in session.messages():
        row = row_of(message.value)
        if is_opportunity(row) and row["offset"] <= last.get(row["base"], -1):
            recorded.add(row, message.time, wanted)
    return recorded


def _opportunity_difference(
    session: RecordedSession, values: Iterable[tuple[str, int, bytes]], recorded: Recorded, derived: Derived
) -> FirstDifference | None:
    def read_again(key: Key) -> bytes:
        for message in session.messages():
            row = row_of(message.value)
            if is_opportunity(row) and key_of(row) == key:
                return message.value
        raise CannotVerifyError(f"{session.folder}: opportunity {key[1]} is gone")

    repeated = recorded.difference(read_again)
    if repeated is not None:
        return repeated
    for value in derived_values(values, session.head.span.last):
        found = derived.difference(recorded, value, read_again)
        if found is not None:
            return found
    return derived.left_over(recorded, read_again)


def _rejection_differences(
    session: RecordedSession, decisions: Decisions, outcome: Verified
) -> Iterator[FirstDifference | None]:
    for rejection in session.rejections():
        if rejection.reason == NO_DECIDER:
            # nobody decided, so there is nothing that it was decided on
            continue
        if rejection.record is None:
            outcome.older["rejections"] += 1
            continue
        yield decisions.rejection_difference(rejection) or _sum_difference(rejection)
        outcome.rejections += 1


def _sum_difference(rejection: Rejection) -> FirstDifference | None:
    """Check the count and the tradable profit of a single rejection."""
    where = f"rejection {rejection.rejection_id}"
    if rejection.count < 1:
        return FirstDifference(where, "count", rejection.count, "1 or more")
    if rejection.count == 1 and not ZERO <= rejection.tradable <= max(ZERO, decimal_of(rejection.expected_profit)):
        return FirstDifference(where, "tradable", rejection.tradable, f"0 to {rejection.expected_profit}")
    return None


def _count_difference(session: RecordedSession, messages: Counter[Pair]) -> FirstDifference | None:
    """Check that nobody rejected more opportunities than there were.

    Those that expired while nobody decided are left out: each process that takes over counts from where the last one
    had stored its progress, so two in a row can count the same.
    """
    counts: Counter[tuple[str, Pair]] = Counter()
    for rejection in session.rejections():
        if rejection.reason == NO_DECIDER:
            continue
        counts[rejection.exchange, (rejection.base, rejection.buy_exchange, rejection.sell_exchange)] += rejection.count
    for (exchange, pair), count in counts.items():
        most = messages[pair]
        if count > most:
            return FirstDifference(f"rejections of {' '.join(pair)} by {exchange}", "count", count, f"at most {most}")
    return None


def _trade_differences(
    session: RecordedSession, decisions: Decisions, cycles: CycleDecisions, outcome: Verified
) -> Iterator[FirstDifference | None]:
    ledger: dict[str, dict[str, Fill]] = {}
    for row in session.fills():
        ledger.setdefault(row.arbitrage_id, {})[fill_key(row.fill)] = row.fill
    for kept in session.arbitrages():
        entered = ledger.pop(kept.arbitrage.arbitrage_id, {})
        if not kept.steps:
            outcome.older["arbitrages"] += 1
            continue
        yield decisions.arbitrage_difference(kept)
        yield _ledger_difference(kept.arbitrage, entered)
        outcome.arbitrages += 1
        outcome.steps += len(kept.steps)
    for one in session.cycles():
        yield cycles.difference(one)
        yield _ledger_difference(one.trade, ledger.pop(one.trade.trade_id, {}))
        outcome.cycle_trades += 1
        outcome.steps += len(one.steps)
    for identity, entered in ledger.items():
        yield FirstDifference(
            f"fill {next(iter(entered))} of arbitrage {identity}", "arbitrage", NOTHING, "one that traded"
        )


def _signal_differences(session: RecordedSession, outcome: Verified) -> Iterator[FirstDifference | None]:
    """Derive the signals again, by this version's text of the moving average's app."""
    if not session.has_signals:
        return
    rule = shipped_average_app()
    signals = by_id(session.signals())
    for signal in signals.values():
        if not signal.closes:
            outcome.older["signals"] += 1
            continue
        yield signal_difference(signal, rule)
        outcome.signals += 1
    for kept in session.arbitrages():
        yield order_difference(kept.arbitrage, signals, session.head.span.started_at)


def _ledger_difference(trade: TradeOfLegs, entered: Mapping[str, Fill]) -> FirstDifference | None:
    """Check that the ledger has every fill of a leg exactly once, as it was reported, and no other fill."""
    booked = {fill_key(fill): fill for leg in trade.legs for fill in leg.fills}
    for key in [*booked, *(key for key in entered if key not in booked)]:
        found = first_unlike(entered.get(key, NOTHING), booked.get(key, NOTHING))
        if found is not None:
            return FirstDifference(f"fill {key} of arbitrage {trade.arbitrage_id}", found[0] or "fill", *found[1:])
    return None
