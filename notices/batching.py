"""When the next message is sent and what it contains: alarms at once, trades batched, within a rate limit. Pure."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from market.time_units import MICROSECONDS
from session.notice_destinations import Destination
from store.operations.notices import QueuedNotice

MINUTE = 60 * MICROSECONDS
MAX_IN_ONE = 50
"""Maximum number of notices in one message; its text lists fewer."""
KEPT_FREE = 4
"""One in this many of a minute's messages is reserved for alarms."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The notices to send next, not before `at` (microseconds). Empty if none are queued."""

    batch: tuple[QueuedNotice, ...] = ()
    at: int = 0


def next_batch(
    waiting: Sequence[QueuedNotice], sent_at: Sequence[int], destination: Destination, now: int
) -> BatchPlan:
    """Return the notices to send next. `waiting`: oldest first; `sent_at`: send times, at least of the last minute,
    oldest first.

    A message that was begun is sent again unchanged: a receiver that gets it twice knows it by its id.
    """
    begun = next((row.batch for row in waiting if row.batch is not None), None)
    most = destination.per_minute
    if begun is not None:
        batch = tuple(row for row in waiting if row.batch == begun)
        return BatchPlan(batch, _free_at(sent_at, most, now))
    urgent = [row for row in waiting if row.notice.is_urgent]
    if urgent:
        return BatchPlan(tuple(urgent[:MAX_IN_ONE]), _free_at(sent_at, most, now))
    if not waiting:
        return BatchPlan()
    gathered = waiting[0].recorded_at + int(destination.batch_seconds * MICROSECONDS)
    free = _free_at(sent_at, max(1, most - -(-most // KEPT_FREE)), now)
    return BatchPlan(tuple(waiting[:MAX_IN_ONE]), max(gathered, free))


def batch_name(batch: Sequence[QueuedNotice]) -> str:
    """Return the id of the message: for one notice its own, for several a digest of all."""
    begun = batch[0].batch
    if begun is not None:
        return begun
    if len(batch) == 1:
        return batch[0].notice.notice_id
    ids = "\n".join(row.notice.notice_id for row in batch)
    return f"gathered:{hashlib.sha256(ids.encode()).hexdigest()[:32]}"


def _free_at(sent_at: Sequence[int], most: int, now: int) -> int:
    """Return the time from which fewer than `most` messages lie within the last minute."""
    recent = [at for at in sent_at if at > now - MINUTE]
    return now if len(recent) < most else recent[-most] + MINUTE
