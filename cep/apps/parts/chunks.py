"""What flows between the parts of a query: events in chunks, as Siddhi groups them.

A chunk is what one arriving event, batch or timer brings to the next part; a query with aggregators has one output for
each of its chunks.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

Row = tuple[Any, ...]


class Kind(IntEnum):
    """What an event is to the part that it comes to."""

    CURRENT = 0
    EXPIRED = 1
    """It leaves a window."""
    RESET = 2
    """Aggregators begin from the start; it is no row."""


Event = tuple[Kind, int, Row]
"""Kind, time in milliseconds, values."""
Chunk = list[Event]
Receiver = Callable[[Chunk], None]
RowTaker = Callable[[int, Row], None]
"""Does with one current event what a receiver does with a chunk of it alone; of its time and values."""

CURRENT, EXPIRED, RESET = Kind.CURRENT, Kind.EXPIRED, Kind.RESET


def of_one(receive: Receiver) -> RowTaker:
    """Take one row by a receiver that has no shorter way."""
    return lambda at, row: receive([(CURRENT, at, row)])


def one_or_more(take: RowTaker, receive: Receiver) -> Receiver:
    """Return a receiver that takes the shorter way if it can."""

    def either(chunk: Chunk) -> None:
        kind, at, row = chunk[0]
        if len(chunk) == 1 and kind is CURRENT:
            take(at, row)
        else:
            receive(chunk)

    return either


def as_current(chunk: Chunk) -> Chunk:
    """Return the rows as they enter another stream."""
    if len(chunk) == 1 and chunk[0][0] is CURRENT:
        return chunk
    return [(CURRENT, at, row) for kind, at, row in chunk if kind is not RESET]
