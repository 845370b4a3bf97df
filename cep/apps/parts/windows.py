"""Windows that slide: every event that comes enters, and others leave with it or by the clock. And what lets events
wait.

What leaves is an expired event, with the time of what made it leave, before the one that takes its place. Semantics
are Siddhi 5.1's.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any, ClassVar, Protocol

from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.chunks import CURRENT, EXPIRED, RESET, Chunk, Event, Kind, Receiver, Row

Key = Callable[[Row, int], Any]
"""Takes a row and its time."""


class EventWindow(Protocol):
    """A part of a query that keeps events. It calls the receiver that it was made with."""

    def receive(self, chunk: Chunk) -> None: ...

    def rows(self) -> Iterable[Event]:
        """Return what is in it now, oldest first."""


class LengthWindow(Stateful):
    """The last `length` events of a query, without their times: nobody asks for those of what is kept, and a row alone
    is no object more."""

    STATE = ("kept",)

    def __init__(self, context: PartContext, emit: Receiver, length: int) -> None:
        self._context, self._emit, self._length = context, emit, length
        self.kept: deque[Row] = deque()
        context.keep(self)

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        for event in chunk:
            out += self._left_for(event[2], event[1])
        self._emit(out)

    def _left_for(self, row: Row, at: int) -> Chunk:
        kept, now = self.kept, self._context.now
        if self._length == 0:
            return [(CURRENT, at, row), (EXPIRED, at, row), (RESET, at, row)]
        out: Chunk = []
        if len(kept) == self._length:
            out.append((EXPIRED, now, kept.popleft()))
        kept.append(row)
        out.append((CURRENT, at, row))
        return out

    def restore(self, state: Any) -> None:
        super().restore((map(_row_of, state[0]),))

    def rows(self) -> Iterable[Event]:
        return [(EXPIRED, self._context.now, row) for row in self.kept]


class LengthWindowOfEvents(Stateful):
    """As `LengthWindow`, for who asks for what is kept: of a name, or of a join."""

    STATE = ("_kept",)

    def __init__(self, context: PartContext, emit: Receiver, length: int) -> None:
        self._context, self._emit, self._length = context, emit, length
        self._kept: deque[Event] = deque()
        context.keep(self)

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        for _, at, row in chunk:
            if self._length == 0:
                out += [(CURRENT, at, row), (EXPIRED, at, row), (RESET, at, row)]
                continue
            if len(self._kept) == self._length:
                out.append((EXPIRED, self._context.now, self._kept.popleft()[2]))
            self._kept.append((EXPIRED, at, row))
            out.append((CURRENT, at, row))
        self._emit(out)

    def rows(self) -> Iterable[Event]:
        return self._kept


def _row_of(kept: Event | Row) -> Row:
    """Return the row; snapshots of before have events. No row has a kind in it."""
    return kept[2] if len(kept) == 3 and isinstance(kept[0], Kind) else kept


class _TimedWindow(Stateful):
    """Keeps events for `milliseconds`, in the order of their times."""

    STATE: ClassVar[tuple[str, ...]] = ("_kept",)

    def __init__(self, context: PartContext, emit: Receiver, milliseconds: int) -> None:
        self._context, self._emit, self._milliseconds = context, emit, milliseconds
        self._kept: deque[Event] = deque()
        context.keep(self, self._on_time)

    def _on_time(self, _due: int, _what: object) -> None:
        out = self._due()
        if out:
            self._emit(out)

    def _due(self) -> Chunk:
        """Return what has been kept long enough, with the present time and as what it was kept."""
        kept, now = self._kept, self._context.now
        out: Chunk = []
        while kept and kept[0][1] + self._milliseconds <= now:
            kind, _, row = kept.popleft()
            out.append((kind, now, row))
        return out

    def rows(self) -> Iterable[Event]:
        return self._kept


class TimeWindow(_TimedWindow):
    """The events of the last `milliseconds`, and no more than `length` of them if that is given."""

    STATE = ("_kept", "_last", "is_swept")

    def __init__(self, context: PartContext, emit: Receiver, milliseconds: int, length: int | None = None) -> None:
        super().__init__(context, emit, milliseconds)
        self._length = length
        self._last = -1
        self.is_swept = False
        """Whether it is looked at now and then, for who does not wait for every event to leave at its time."""

    def sweep_later(self) -> None:
        """From now on and until it is empty: what leaves does so with the next event, or at the next look."""
        self.is_swept = True
        self._context.wake_at(self._context.now + self._milliseconds)

    @property
    def row_count(self) -> int:
        """How many rows it has, without those that wait for the next look alone."""
        oldest = self._context.now - self._milliseconds
        return sum(1 for _, at, _ in self._kept if at > oldest)

    def _on_time(self, _due: int, _what: object) -> None:
        super()._on_time(_due, _what)
        if self.is_swept:
            self.is_swept = False
            if self._kept:
                self.sweep_later()

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        for _, at, row in chunk:
            out += self._due()
            if self._length is not None and len(self._kept) == self._length:
                # a window of no events is never entered
                out += [(EXPIRED, self._context.now, self._kept.popleft()[2])] if self._kept else []
            if self._length != 0:
                self._kept.append((EXPIRED, at, row))
            out.append((CURRENT, at, row))
            if self._last < at:
                self._last = at
                self._context.wake_at(at + self._milliseconds)
        self._emit(out)


class ExternalTimeWindow(Stateful):
    """The events of the last `milliseconds` by an attribute of theirs. The clock moves nothing in it."""

    STATE = ("_kept",)

    def __init__(self, context: PartContext, emit: Receiver, time_of: Key, milliseconds: int) -> None:
        self._emit, self._time_of, self._milliseconds = emit, time_of, milliseconds
        self._kept: deque[Event] = deque()
        context.keep(self)

    def receive(self, chunk: Chunk) -> None:
        kept = self._kept
        out: Chunk = []
        for _, at, row in chunk:
            now = self._time_of(row, at)
            while kept and self._time_of(kept[0][2], kept[0][1]) + self._milliseconds <= now:
                out.append((EXPIRED, now, kept.popleft()[2]))
            kept.append((EXPIRED, at, row))
            out.append((CURRENT, at, row))
        self._emit(out)

    def rows(self) -> Iterable[Event]:
        return self._kept


class SortWindow(Stateful):
    """The first `length` events in an order by attributes; the last of them leaves after the one that came."""

    STATE = ("_kept",)

    def __init__(self, context: PartContext, emit: Receiver, length: int, orders: list[tuple[Key, bool]]) -> None:
        """`orders`: key and whether it is descending, the most important first."""
        self._context, self._emit, self._length, self._orders = context, emit, length, orders
        self._kept: list[Event] = []
        context.keep(self)

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        for _, at, row in chunk:
            out.append((CURRENT, at, row))
            self._kept.append((EXPIRED, at, row))
            if len(self._kept) > self._length:
                self._kept.sort(key=cmp_to_key(self._compared))
                out.append((EXPIRED, self._context.now, self._kept.pop()[2]))
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
            self._context.wake_at(at + self._milliseconds)
        if out:
            self._emit(out)


Waiting = tuple[int, int, int, Event]
"""Time by the column, number, when it came by the app's clock, the row."""


@dataclass(frozen=True, slots=True)
class Slack:
    """`longest`: for how long a row waits at most, by the app's clock; None: until others come. `most`: of K; None:
    any. `drops_late`: whether a row that comes behind a later one which went on is left out. Milliseconds."""

    longest: int | None = None
    most: int | None = None
    drops_late: bool = False


class Reordering(Stateful):
    """`#reorder:kslack(time, …)`: rows that come late, in the order of a column. Each goes on by itself, as if all had
    come in that order.

    The slack K is the greatest lateness so far, and a row waits until the column's newest time is K past its own
    (Mutschler and Philippsen, "Distributed Low-Latency Out-of-Order Event Processing for High Data Rate Sensor
    Streams", IPDPS 2013, which Siddhi's extension names: https://siddhi-io.github.io/siddhi-execution-reorder/).
    """

    STATE = ("_waiting", "_number", "_slack", "_newest", "_last", "_is_timed")

    def __init__(self, context: PartContext, emit: Receiver, time_of: Key, slack: Slack) -> None:
        self._context, self._emit, self._time_of, self._terms = context, emit, time_of, slack
        self._waiting: list[Waiting] = []
        """A heap."""
        self._number = 0
        self._slack = 0
        """K."""
        self._newest: int | None = None
        self._last: int | None = None
        """The time of the latest row that went on."""
        self._is_timed = False
        """Whether it will be called: for the row that has waited longest."""
        context.keep(self, self._on_time)

    def receive(self, chunk: Chunk) -> None:
        for event in chunk:
            time = self._time_of(event[2], event[1]) if event[0] is CURRENT else None
            if time is not None:
                self._come(time, event)

    def _come(self, time: int, event: Event) -> None:
        if self._newest is None or time > self._newest:
            self._newest = time
        late = self._newest - time
        if late > self._slack:
            self._slack = late if self._terms.most is None else min(late, self._terms.most)
        if self._last is not None and time < self._last:
            if not self._terms.drops_late:
                self._emit([event])
            return
        self._number += 1
        heapq.heappush(self._waiting, (time, self._number, self._context.now, event))
        self._go_on(self._newest - self._slack)
        self._wait()

    def _go_on(self, until: int) -> None:
        """Pass on what is not behind `until`, by the column."""
        while self._waiting and self._waiting[0][0] <= until:
            self._last, _, _, event = heapq.heappop(self._waiting)
            self._emit([event])

    def _wait(self) -> None:
        if self._terms.longest is not None and self._waiting and not self._is_timed:
            self._is_timed = True
            self._context.wake_at(min(came for _, _, came, _ in self._waiting) + self._terms.longest)

    def _on_time(self, _due: int, _what: Any) -> None:
        """Pass on a row that has waited long enough, and all that come before it."""
        self._is_timed = False
        longest, now = self._terms.longest or 0, self._context.now
        over = [time for time, _, came, _ in self._waiting if came + longest <= now]
        if over:
            self._go_on(max(over))
        self._wait()


def compared(left: Any, right: Any) -> int:
    """-1, 0 or 1; null comes last."""
    if left is None or right is None:
        return (left is None) - (right is None)
    return int(left > right) - int(left < right)
