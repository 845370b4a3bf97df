"""The audit's checks of regions: nothing traded twice, all granted, silent while cut off, level after healing.
Pure.

It trusts no region: orders and their times come from the exchanges' journals, cuts from whoever made them, and each
region's books and log from that region alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from launch.chaos.audit.copied_logs import RegionLog, log_violations
from launch.chaos.audit.orders import every_posting
from launch.chaos.audit.records import Evidence, Violation
from launch.chaos.audit.replacements import RecordedLeg
from market.money import text_of, total
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from market.trade.reservation_state import liquidity_key
from market.trade.reservations import SEND_WITHIN
from store.queries.member_books import BookCopy

SKEW_TOLERANCE = 3 * MICROSECONDS
"""By how much clocks of regions, the store and the journals may differ, including the time that an order needs to
arrive."""


@dataclass(frozen=True, slots=True)
class Spell:
    """A state of `name` (a region, an exchange), by the machine's clock, microseconds; `until` None: it still lasts."""

    name: str
    since: int
    until: int | None = None

    def has(self, moment: int) -> bool:
        return self.is_within(moment, moment)

    def is_within(self, first: int, last: int) -> bool:
        """Return whether it lasted at any time from `first` to `last`."""
        return self.since <= last and (self.until is None or self.until >= first)


@dataclass(frozen=True, slots=True)
class RegionEvidence:
    """What an audit of regions compares. The snapshot of `records` must be read from the primary, of what a majority
    has (`read_snapshot` does): its grants are the valid ones."""

    records: Evidence
    copies: Mapping[str, Mapping[str, BookCopy]]
    """Region with a member → collection → its copy, read from that member itself (`member_books`)."""
    logs: Mapping[str, RegionLog] = field(default_factory=dict)
    """Region with a Kafka → its log."""
    cuts: Sequence[Spell] = ()
    """Regions that nothing reached, both ways."""
    slow: Sequence[Spell] = ()
    """Exchanges whose requests were delayed, until the last of these could have arrived."""
    tolerance: int = SKEW_TOLERANCE


def region_violations(evidence: RegionEvidence) -> list[Violation]:
    """Return violations by regions beside `violations_of`, empty if there are none. All links must be healed, the
    system at rest."""
    return [
        *_twice_traded(evidence.records),
        *_overdrawn(evidence.records),
        *_grant_violations(evidence),
        *_orders_while_cut(evidence),
        *_book_differences(evidence.copies),
        *log_violations(evidence.logs),
    ]


def _twice_traded(records: Evidence) -> Iterator[Violation]:
    """Return two decisions on the same quotes, FX included: two regions saw one opportunity, or one saw it twice."""
    first: dict[tuple[str, ...], Arbitrage] = {}
    for arbitrage in _cross_exchange(records):
        seen = arbitrage.opportunity
        quotes = (seen.buy.quote_id, seen.sell.quote_id, *sorted(rate.quote_id for rate in seen.fx))
        other = first.setdefault(quotes, arbitrage)
        if other is not arbitrage:
            detail = f"on the same quotes as {other.arbitrage_id}: {', '.join(quotes)}"
            yield Violation("traded_twice", detail, arbitrage.arbitrage_id)


def _overdrawn(records: Evidence) -> Iterator[Violation]:
    """Return legs that took more of one side of one quote than it showed."""
    legs = [(one, leg) for one in _cross_exchange(records) for leg in one.legs if leg.role in ("buy", "sell")]
    taken: dict[str, list[tuple[Arbitrage, Decimal]]] = {}
    for arbitrage, leg in legs:
        taken.setdefault(liquidity_key(arbitrage.opportunity, leg.side), []).append((arbitrage, leg.amount))
    for key, takers in taken.items():
        shown = max(_shown(arbitrage, key) for arbitrage, _ in takers)
        used = total(amount for _, amount in takers)
        if used > shown:
            detail = f"{key}: {len(takers)} arbitrages took {text_of(used)} of {text_of(shown)}"
            yield Violation("liquidity_overdrawn", detail, takers[-1][0].arbitrage_id)


def _shown(arbitrage: Arbitrage, key: str) -> Decimal:
    seen = arbitrage.opportunity
    side = seen.buy if key == liquidity_key(seen, "buy") else seen.sell
    return total(level.amount for level in side.levels)


def _cross_exchange(records: Evidence) -> list[Arbitrage]:
    """Return the arbitrages, without a strategy's orders on one exchange: those follow from closes, not from quotes."""
    return [one for one in records.snapshot.arbitrages if one.strategy == "arbitrage"]


def _grant_violations(evidence: RegionEvidence) -> Iterator[Violation]:
    """Return orders without a grant, ahead of it, or whose grant no committed step of the arbitrage made."""
    committed = {(step.arbitrage_id, step.at) for step in evidence.records.snapshot.steps}
    for exchange, posting, owner in every_posting(evidence.records):
        if owner is None:
            yield Violation("not_granted", f"{exchange}: {posting.description} has no grant in the store")
            continue
        granted_at = owner.leg.times.get("granted")
        if granted_at is None:
            yield Violation("not_granted", f"{owner.name}: never granted", owner.arbitrage_id)
        elif posting.at + evidence.tolerance < granted_at:
            early = (granted_at - posting.at) / MICROSECONDS
            yield Violation("not_granted", f"{owner.name}: posted {early:.3f} s before its grant", owner.arbitrage_id)
        elif (owner.arbitrage_id, granted_at) not in committed:
            yield Violation("not_granted", f"{owner.name}: no step at {granted_at} granted it", owner.arbitrage_id)


def _orders_while_cut(evidence: RegionEvidence) -> Iterator[Violation]:
    """Return orders that a region sent while it was cut off: no grant reaches it, so all that it had run out
    `SEND_WITHIN` after the cut."""
    regions = {market.exchange: market.region for market in evidence.records.markets.values()}
    for exchange, posting, owner in every_posting(evidence.records):
        for cut in evidence.cuts:
            if cut.name != regions.get(exchange) or not cut.has(posting.at):
                continue
            ran_out = _last_grant(cut, owner) + SEND_WITHIN
            if posting.at > ran_out + evidence.tolerance and not _is_excused(evidence, exchange, ran_out, posting.at):
                after = f"{(posting.at - ran_out) / MICROSECONDS:.3f} s after its grants ran out"
                detail = f"{exchange}: {posting.description} came from {cut.name}, cut off, {after}"
                yield Violation("order_while_cut", detail, None if owner is None else owner.arbitrage_id)


def _last_grant(cut: Spell, owner: RecordedLeg | None) -> int:
    """Return the latest moment at which the region can have been granted this order."""
    granted_at = None if owner is None else owner.leg.times.get("granted")
    return cut.since if granted_at is None else min(cut.since, granted_at)


def _is_excused(evidence: RegionEvidence, exchange: str, ran_out: int, came_at: int) -> bool:
    """Return whether its bot stood still after its last look at the clock, or the order travelled for long."""
    stopped = any(stop.exchange == exchange and stop.is_within(ran_out, came_at) for stop in evidence.records.stops)
    return stopped or any(slow.name == exchange and slow.has(came_at) for slow in evidence.slow)


def _book_differences(copies: Mapping[str, Mapping[str, BookCopy]]) -> Iterator[Violation]:
    """Return differences between the members' copies of each collection, all of which must be there and equal."""
    for collection in sorted({name for own in copies.values() for name in own}):
        found = {region: own.get(collection) for region, own in copies.items()}
        if len(set(found.values())) > 1:
            each = ", ".join(f"{region} {_copy_text(copy)}" for region, copy in found.items())
            yield Violation("books_differ", f"{collection}: {each}")


def _copy_text(copy: BookCopy | None) -> str:
    return "has none" if copy is None else f"{copy.count} ({copy.digest[:8]})"
