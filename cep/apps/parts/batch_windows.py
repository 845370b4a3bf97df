"""Windows that fill and are emptied: what was in the last batch expires, aggregators are reset, then the new batch
comes. Semantics are Siddhi 5.1's.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any

from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.calendar import CronTimes
from cep.apps.parts.chunks import CURRENT, EXPIRED, RESET, Chunk, Event, Receiver


def full_batch(before: Chunk, batch: Chunk, resets_at: int | None = None) -> Chunk:
    """Return what a batch gives where it ends: the one before expires, aggregators are reset, it comes. `before`: with
    the times at which they expire; `resets_at`: None for that of the batch's first event."""
    resets: Chunk = [(RESET, batch[0][1] if resets_at is None else resets_at, batch[-1][2])] if batch else []
    return [*((EXPIRED, at, row) for _, at, row in before), *resets, *batch]


class _Batches(Stateful):
    """The batch that fills, and the one before it."""

    STATE = ("filling", "expiring", "_seen")

    def __init__(self, context: PartContext) -> None:
        self._context = context
        self.filling: Chunk = []
        self.expiring: Chunk = []
        self._seen = 0
        """How many of what expires somebody has looked at, as joins do: Siddhi leaves these their times."""

    def expired(self) -> Chunk:
        """Return what was there, which is there no longer, with the times at which it leaves."""
        rows, now, seen = self.expiring, self._context.now, self._seen
        self.expiring, self._seen = [], 0
        return [*rows[:seen], *((kind, now, row) for kind, _, row in rows[seen:])]

    def flushed(self, resets_at: int | None = None) -> Chunk:
        """Return the chunk of a full batch, which may be empty."""
        out = full_batch(self.expired(), self.filling, resets_at)
        self.expiring, self.filling = self.filling, []
        return out

    def rows(self) -> Iterable[Event]:
        self._seen = len(self.expiring)
        return self.expiring


class LengthBatchWindow:
    """Batches of `length` events."""

    def __init__(self, context: PartContext, emit: Receiver, length: int) -> None:
        self._context, self._emit, self._length = context, emit, length
        self._batches = _Batches(context)
        context.keep(self._batches)

    def receive(self, chunk: Chunk) -> None:
        for event in chunk:
            self._batches.filling.append(event)
            if len(self._batches.filling) == self._length:
                self._emit(self._batches.flushed(self._context.now))

    def rows(self) -> Iterable[Event]:
        return self._batches.rows()


class EmptyBatchWindow:
    """Batches of no event: each event expires as it comes, by itself."""

    def __init__(self, context: PartContext, emit: Receiver) -> None:
        self._context, self._emit = context, emit

    def receive(self, chunk: Chunk) -> None:
        now = self._context.now
        for _, at, row in chunk:
            self._emit([(CURRENT, at, row), (EXPIRED, now, row), (RESET, now, row)])

    def rows(self) -> Iterable[Event]:
        return ()


class StreamedLengthBatchWindow:
    """Batches of `length` events, each passed on as it comes; the batch expires with the first of the next."""

    def __init__(self, context: PartContext, emit: Receiver, length: int) -> None:
        self._context, self._emit, self._length = context, emit, length
        self._batches = _Batches(context)
        context.keep(self._batches)

    def receive(self, chunk: Chunk) -> None:
        kept = self._batches
        for event in chunk:
            out: Chunk = []
            if len(kept.expiring) == self._length:
                out = [(EXPIRED, at, row) for _, at, row in kept.expired()]
                out.append((RESET, self._context.now, out[-1][2]))
            kept.expiring.append(event)
            self._emit([*out, event])

    def rows(self) -> Iterable[Event]:
        return self._batches.rows()


class TimeBatchWindow(Stateful):
    """A batch every `milliseconds`, from the first event or from a start that is given. With `streams` the events are
    passed on as they come, and expire with the batch."""

    def __init__(
        self,
        context: PartContext,
        emit: Receiver,
        milliseconds: int,
        start: int | None = None,
        *,
        streams: bool = False,
    ) -> None:
        self._context, self._emit, self._milliseconds, self._start = context, emit, milliseconds, start
        self._streams = streams
        self._batches = _Batches(context)
        self._next: int | None = None
        context.keep(self, self._on_time)

    def receive(self, chunk: Chunk) -> None:
        if self._next is None:
            now = self._context.now
            into = 0 if self._start is None else (now - self._start) % self._milliseconds
            self._schedule(now - into + self._milliseconds)
        if self._streams:
            self._batches.expiring += chunk
            self._emit(chunk)
        else:
            self._batches.filling += chunk

    def _schedule(self, due: int) -> None:
        self._next = due
        self._context.wake_at(due)

    def _on_time(self, _due: int, _what: object) -> None:
        if self._next is None or self._context.now < self._next:
            return
        self._schedule(self._next + self._milliseconds)
        out = self._expired() if self._streams else self._batches.flushed()
        if out:
            self._emit(out)

    def state(self) -> object:
        return self._next, self._batches.state()

    def restore(self, state: Any) -> None:
        self._next, batches = state
        self._batches.restore(batches)

    def _expired(self) -> Chunk:
        first = self._batches.expiring[:1]
        expired: Chunk = [(EXPIRED, at, row) for _, at, row in self._batches.expired()]
        return [*expired, *((RESET, at, row) for _, at, row in first)]

    def rows(self) -> Iterable[Event]:
        return self._batches.rows()


class HoppingWindow(Stateful):
    """Every `hop` a batch of what came in the last `size`; the batch before expires then. A hop longer than the size
    leaves out what lies between.

    Windows end at full hops since 1970 in UTC, as those of Flink's `HOP` do, and not where the first row happens to be:
    so two apps, or one that was started again, have the same windows
    (https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/table/sql/queries/window-tvf/).
    """

    def __init__(self, context: PartContext, emit: Receiver, size: int, hop: int, start: int = 0) -> None:
        """`start`: of the app's clock, where a hop begins, and so all others; milliseconds, as the others are."""
        self._context, self._emit, self._size, self._hop, self._start = context, emit, size, hop, start
        self._batches = _Batches(context)
        self._kept: deque[tuple[int, Event]] = deque()
        """What is in a window that has not ended, each with the time of the clock at which it came."""
        self._next: int | None = None
        """When the next window ends; None if nothing waits for it."""
        context.keep(self, self._on_time)

    def receive(self, chunk: Chunk) -> None:
        now = self._context.now
        end = now + self._hop - (now - self._start) % self._hop
        if end - now > self._size:
            # between two windows
            return
        self._kept.extend((now, event) for event in chunk)
        if self._next is None:
            self._wait(end)

    def _wait(self, due: int) -> None:
        self._next = due
        self._context.wake_at(due)

    def _on_time(self, due: int, _what: object) -> None:
        if self._next is None or due < self._next:
            return
        kept, begins = self._kept, self._next - self._size
        while kept and kept[0][0] < begins:
            kept.popleft()
        # of several windows that a row is in, its time says which one this is
        self._batches.filling = [(kind, due, row) for came, (kind, _, row) in kept if came < due]
        out = self._batches.flushed()
        if kept or self._batches.expiring:
            self._wait(due + self._hop)
        else:
            self._next = None
        if out:
            self._emit(out)

    def state(self) -> object:
        return self._kept, self._next, self._batches.state()

    def restore(self, state: Any) -> None:
        self._kept, self._next, batches = state
        self._batches.restore(batches)

    def rows(self) -> Iterable[Event]:
        """Return those of the last window that ended."""
        return self._batches.rows()


class ChunkBatchWindow:
    """A batch is what came in one chunk, or each `length` events of it."""

    def __init__(self, context: PartContext, emit: Receiver, length: int = 0) -> None:
        self._emit, self._length = emit, length
        self._batches = _Batches(context)
        context.keep(self._batches)

    def receive(self, chunk: Chunk) -> None:
        rows: Chunk = [(CURRENT, at, row) for _, at, row in chunk]
        size = self._length or len(rows)
        for begin in range(0, len(rows), size):
            self._batches.filling = rows[begin : begin + size]
            self._emit(self._batches.flushed(self._batches.filling[-1][1]))
            # all of the chunk expires with the next one
            self._batches.expired()
        self._batches.expiring = rows

    def rows(self) -> Iterable[Event]:
        return self._batches.rows()


class CronWindow(Stateful):
    """A batch ends at the times of a cron expression, if there is something in it."""

    STATE = ("_filling", "_expiring", "_is_waiting")

    def __init__(self, context: PartContext, emit: Receiver, times: CronTimes) -> None:
        self._context, self._emit, self._times = context, emit, times
        self._filling: Chunk = []
        self._expiring: Chunk = []
        self._is_waiting = False
        context.keep(self, self._on_time)

    def receive(self, chunk: Chunk) -> None:
        self._filling += chunk
        if not self._is_waiting:
            self._wait(self._context.now)

    def _wait(self, since: int) -> None:
        due = self._times.after(since)
        self._is_waiting = due is not None
        if due is not None:
            self._context.wake_at(due)

    def _on_time(self, due: int, _what: object) -> None:
        if not self._filling:
            self._is_waiting = False
            return
        self._wait(due)
        now, filling, expiring = self._context.now, self._filling, self._expiring
        self._expiring, self._filling = filling, []
        self._emit([*((EXPIRED, now, row) for _, _, row in expiring), *filling])

    def rows(self) -> Iterable[Event]:
        return self._expiring
