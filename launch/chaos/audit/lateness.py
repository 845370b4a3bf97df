"""Finds orders that reached an exchange later than they may be posted. Pure."""

from collections.abc import Iterator

from launch.chaos.audit.orders import MAX_TRAVEL, PostedOrder, owned_postings
from launch.chaos.audit.records import Evidence, Violation
from launch.chaos.audit.replacements import RecordedLeg
from market.time_units import MICROSECONDS
from market.trade.reservations import SEND_WITHIN

LATEST = SEND_WITHIN + MAX_TRAVEL
"""After its grant an order may come this much later: posted in time, it may travel for long."""


def late_violations(evidence: Evidence) -> Iterator[Violation]:
    """Return orders that came too late although their bot was running all the time."""
    for posting, owner in _late_orders(evidence):
        if not _was_stopped(posting, owner, evidence):
            after = (posting.at - owner.leg.times["granted"]) / MICROSECONDS
            detail = f"{owner.name}: {posting.description} came {after:.3f} s after it was granted"
            yield Violation("posted_late", detail, owner.arbitrage_id)


def late_while_stopped(evidence: Evidence) -> int:
    """Return how many came too late whose bot stood still in between: it may have been stopped after its last look at
    the clock, before the first byte was written."""
    return sum(_was_stopped(posting, owner, evidence) for posting, owner in _late_orders(evidence))


def _late_orders(evidence: Evidence) -> Iterator[tuple[PostedOrder, RecordedLeg]]:
    for posting, owner in owned_postings(evidence):
        granted_at = owner.leg.times.get("granted")
        if granted_at is not None and posting.at - granted_at > LATEST:
            yield posting, owner


def _was_stopped(posting: PostedOrder, owner: RecordedLeg, evidence: Evidence) -> bool:
    first, own = owner.leg.times["granted"], owner.leg.exchange
    return any(stop.exchange == own and stop.is_within(first, posting.at) for stop in evidence.stops)
