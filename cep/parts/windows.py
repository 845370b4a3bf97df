"""Windows that slide: every event that comes enters, and others leave with it or by the clock.

What leaves is an expired event, with the time of what made it leave, before the one that takes its place. Semantics
are Siddhi 5.1's.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import cmp_to_key
from typing import Any, Protocol

from cep.parts.chunks import CURRENT, EXPIRED, RESET, Chunk, EngineClock, Event, Receiver, Row

Key = Callable[[Row, int], Any]
"""Of a row and its time."""


class EventWindow(Protocol):
    """A part of a query that keeps events. It calls the receiver that it was made with."""

    def receive(self, chunk: Chunk) -> None: ...

    def rows(self) -> Iterable[Event]:
        """What is in it now, oldest first."""


class LengthWindow:
    """The last `length` events."""

    def __init__(self, clock: EngineClock, emit: Receiver, length: int) -> None:
        self._clock, self._emit, self._length = clock, emit, length
        self._kept: deque[Event] = deque()

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        for event in chunk:
            out += self._left_for(event[2], event[1])
        self._emit(out)

    def _left_for(self, row: Row, at: int) -> Chunk:
        kept, now = self._kept, self._clock.now
        if self._length == 0:
            return [(CURRENT, at, row), (EXPIRED, now, row), (RESET, now, row)]
        out: Chunk = []
        if len(kept) == self._length:
            out.append((EXPIRED, now, kept.popleft()[2]))
        kept.append((EXPIRED, at, row))
        out.append((CURRENT, at, row))
        return out

    def rows(self) -> Iterable[Event]:
        return self._kept


class _TimedWindow:
    """Keeps events for `milliseconds`, in the order of their times."""

    def __init__(self, clock: EngineClock, emit: Receiver, milliseconds: int) -> None:
        self._clock, self._emit, self._milliseconds = clock, emit, milliseconds
        self._kept: deque[Event] = deque()

    def _on_time(self) -> None:
        out = self._due()
        if out:
            self._emit(out)

    def _due(self) -> Chunk:
        """What has been kept long enough, with the present time and as what it was kept."""
        kept, now, out = self._kept, self._clock.now, list[Event]()
        while kept and kept[0][1] + self._milliseconds <= now:
            kind, _, row = kept.popleft()
            out.append((kind, now, row))
        return out

    def rows(self) -> Iterable[Event]:
        return self._kept


class TimeWindow(_TimedWindow):
    """The events of the last `milliseconds`, and no more than `length` of them where that is given."""

    def __init__(self, clock: EngineClock, emit: Receiver, milliseconds: int, length: int | None = None) -> None:
        super().__init__(clock, emit, milliseconds)
        self._length = length
        self._last = -1

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        for _, at, row in chunk:
            out += self._due()
            if self._length is not None and len(self._kept) == self._length:
                # a window of no events is never entered
                out += [(EXPIRED, self._clock.now, self._kept.popleft()[2])] if self._kept else []
            if self._length != 0:
                self._kept.append((EXPIRED, at, row))
            out.append((CURRENT, at, row))
            if self._last < at:
                self._last = at
                self._clock.call_at(at + self._milliseconds, self._on_time)
        self._emit(out)


class ExternalTimeWindow:
    """The events of the last `milliseconds` by an attribute of theirs. The clock moves nothing in it."""

    def __init__(self, emit: Receiver, time_of: Key, milliseconds: int) -> None:
        self._emit, self._time_of, self._milliseconds = emit, time_of, milliseconds
        self._kept: deque[Event] = deque()

    def receive(self, chunk: Chunk) -> None:
        kept, out = self._kept, list[Event]()
        for _, at, row in chunk:
            now = self._time_of(row, at)
            while kept and self._time_of(kept[0][2], kept[0][1]) + self._milliseconds <= now:
                out.append((EXPIRED, now, kept.popleft()[2]))
            kept.append((EXPIRED, at, row))
            out.append((CURRENT, at, row))
        self._emit(out)

    def rows(self) -> Iterable[Event]:
        return self._kept


class SortWindow:
    """The first `length` events in an order by attributes; the last of them leaves after the one that came."""

    def __init__(self, clock: EngineClock, emit: Receiver, length: int, orders: list[tuple[Key, bool]]) -> None:
        """`orders`: key and whether it is descending, the most important first."""
        self._clock, self._emit, self._length, self._orders = clock, emit, length, orders
        self._kept: list[Event] = []

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        for _, at, row in chunk:
            out.append((CURRENT, at, row))
            self._kept.append((EXPIRED, at, row))
            if len(self._kept) > self._length:
                self._kept.sort(key=cmp_to_key(self._compared))
                out.append((EXPIRED, self._clock.now, self._kept.pop()[2]))
        self._emit(out)

    def _compared(self, left: Event, right: Event) -> int:
        for key, is_descending in self._orders:
            order = compared(key(left[2], left[1]), key(right[2], right[1]))
            if order:
                return -order if is_descending else order
        return 0

    def rows(self) -> Iterable[Event]:
        return self._kept


class DelayWindow(_TimedWindow):
    """Passes every event on as it came, `milliseconds` later."""

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        for _, at, row in chunk:
            out += self._due()
            self._kept.append((CURRENT, at, row))
            self._clock.call_at(at + self._milliseconds, self._on_time)
        if out:
            self._emit(out)


def compared(left: Any, right: Any) -> int:
    """-1, 0 or 1; null comes last."""
    if left is None or right is None:
        return (left is None) - (right is None)
    return int(left > right) - int(left < right)
