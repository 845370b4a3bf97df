"""When the next message leaves and what is in it: alarms at once, trades gathered, never too many a minute. Pure."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from market.time_units import MICROSECONDS
from session.notices import Destination
from store.operations.mongo_notices import QueuedNotice

MINUTE = 60 * MICROSECONDS
MOST_IN_ONE = 50
"""Notices of one message; its text names fewer."""
KEPT_FREE = 4
"""Of the messages of a minute one in so many is kept free of trades."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """These go next, not before `at` (microseconds). Empty where nothing waits."""

    batch: tuple[QueuedNotice, ...] = ()
    at: int = 0


def next_batch(
    waiting: Sequence[QueuedNotice], sent_at: Sequence[int], destination: Destination, now: int
) -> BatchPlan:
    """`waiting` oldest first; `sent_at`, when messages left, those of the last minute at least, oldest first.

    A message that was begun goes first, as it was: who gets it twice knows it by its id.
    """
    begun = next((row.batch for row in waiting if row.batch is not None), None)
    most = destination.per_minute
    if begun is not None:
        batch = tuple(row for row in waiting if row.batch == begun)
        return BatchPlan(batch, _free_at(sent_at, most, now))
    urgent = [row for row in waiting if row.notice.is_urgent]
    if urgent:
        return BatchPlan(tuple(urgent[:MOST_IN_ONE]), _free_at(sent_at, most, now))
    if not waiting:
        return BatchPlan()
    gathered = waiting[0].noted_at + int(destination.gather_seconds * MICROSECONDS)
    free = _free_at(sent_at, max(1, most - -(-most // KEPT_FREE)), now)
    return BatchPlan(tuple(waiting[:MOST_IN_ONE]), max(gathered, free))


def batch_name(batch: Sequence[QueuedNotice]) -> str:
    """The id of the message: of one notice its own, of several a digest of all."""
    begun = batch[0].batch
    if begun is not None:
        return begun
    if len(batch) == 1:
        return batch[0].notice.notice_id
    ids = "\n".join(row.notice.notice_id for row in batch)
    return f"gathered:{hashlib.sha256(ids.encode()).hexdigest()[:32]}"


def _free_at(sent_at: Sequence[int], most: int, now: int) -> int:
    """From when fewer than `most` messages lie within the last minute."""
    recent = [at for at in sent_at if at > now - MINUTE]
    return now if len(recent) < most else recent[-most] + MINUTE
