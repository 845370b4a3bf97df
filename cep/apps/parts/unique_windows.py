"""Windows that keep one event of each key, and what lets one event of each key pass. What a newer event of its key
takes the place of leaves a window before that one.

Siddhi has them in an extension of its own, whose documentation is what these follow:
https://siddhi-io.github.io/siddhi-execution-unique/.
"""

from collections.abc import Hashable, Iterable
from typing import Any

from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.batch_windows import full_batch
from cep.apps.parts.chunks import CURRENT, EXPIRED, Chunk, Event, Receiver
from cep.apps.parts.windows import Key


class UniqueWindow(Stateful):
    """The last event of each key; of the `length` keys that came last, or of the last `milliseconds`, if these are
    given."""

    STATE = ("_kept",)

    def __init__(
        self,
        context: PartContext,
        emit: Receiver,
        key: Key,
        *,
        length: int | None = None,
        milliseconds: int | None = None,
    ) -> None:
        self._context, self._emit, self._key = context, emit, key
        self._length, self._milliseconds = length, milliseconds
        self._kept: dict[Hashable, Event] = {}
        """In the order in which the events came."""
        context.keep(self, self._on_time)

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        kept, now = self._kept, self._context.now
        for _, at, row in chunk:
            out += self._due()
            key = self._key(row, at)
            before = kept.pop(key, None)
            if before is None and len(kept) == self._length:
                before = kept.pop(next(iter(kept)))
            if before is not None:
                out.append((EXPIRED, now, before[2]))
            kept[key] = (EXPIRED, at, row)
            out.append((CURRENT, at, row))
            if self._milliseconds is not None:
                self._context.wake_at(at + self._milliseconds)
        self._emit(out)

    def _on_time(self, _due: int, _what: object) -> None:
        out = self._due()
        if out:
            self._emit(out)

    def _due(self) -> Chunk:
        """Return what was kept long enough."""
        if self._milliseconds is None:
            return []
        now = self._context.now
        over = []
        for key, (_, at, _) in self._kept.items():
            if at + self._milliseconds > now:
                break
            over.append(key)
        return [(EXPIRED, now, self._kept.pop(key)[2]) for key in over]

    def rows(self) -> Iterable[Event]:
        return list(self._kept.values())


class UniqueFirstWindow(Stateful):
    """The first event of each key; later ones of it go nowhere, and none leaves."""

    STATE = ("_kept",)

    def __init__(self, context: PartContext, emit: Receiver, key: Key) -> None:
        self._emit, self._key = emit, key
        self._kept: dict[Hashable, Event] = {}
        context.keep(self)

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        for _, at, row in chunk:
            key = self._key(row, at)
            if key not in self._kept:
                self._kept[key] = (EXPIRED, at, row)
                out.append((CURRENT, at, row))
        if out:
            self._emit(out)

    def rows(self) -> Iterable[Event]:
        return list(self._kept.values())


class UniqueBatchWindow(Stateful):
    """Batches of one event of each key, the last or, with `keeps_first`, the first, in the order in which they came. A
    batch ends with its key number `length`, and `milliseconds` after it began."""

    STATE = ("_filling", "_expiring", "_next")

    def __init__(
        self,
        context: PartContext,
        emit: Receiver,
        key: Key,
        *,
        length: int | None = None,
        milliseconds: int | None = None,
        start: int | None = None,
        keeps_first: bool = False,
    ) -> None:
        """`start`: where batches by time alone begin; by default with their first event."""
        self._context, self._emit, self._key = context, emit, key
        self._length, self._milliseconds, self._start = length, milliseconds, start
        self._keeps_first = keeps_first
        self._filling: dict[Hashable, Event] = {}
        self._expiring: Chunk = []
        self._next: int | None = None
        """When the batch ends by time."""
        context.keep(self, self._on_time)

    def receive(self, chunk: Chunk) -> None:
        for event in chunk:
            if self._milliseconds is not None and self._next is None:
                self._begin(self._milliseconds)
            self._enter(self._key(event[2], event[1]), event)
            if len(self._filling) == self._length:
                self._next = None
                self._emit(self._flushed())

    def _begin(self, milliseconds: int) -> None:
        now = self._context.now
        into = 0 if self._start is None else (now - self._start) % milliseconds
        self._wait(now - into + milliseconds)

    def _wait(self, due: int) -> None:
        self._next = due
        self._context.wake_at(due)

    def _enter(self, key: Hashable, event: Event) -> None:
        if self._keeps_first and key in self._filling:
            return
        self._filling.pop(key, None)
        self._filling[key] = event

    def _on_time(self, _due: int, _what: Any) -> None:
        if self._next is None or self._milliseconds is None or self._context.now < self._next:
            return
        if self._length is None:
            self._wait(self._next + self._milliseconds)
        else:
            self._next = None
        out = self._flushed()
        if out:
            self._emit(out)

    def _flushed(self) -> Chunk:
        batch = list(self._filling.values())
        now = self._context.now
        out = full_batch([(kind, now, row) for kind, _, row in self._expiring], batch, now)
        self._expiring = batch
        self._filling.clear()
        return out

    def rows(self) -> Iterable[Event]:
        return self._expiring


class Deduplication(Stateful):
    """`#unique:deduplicate(key, time)`: lets a row pass, and none of its key up to `milliseconds` after it. A row that
    is held back extends nothing."""

    def __init__(self, context: PartContext, emit: Receiver, key: Key, milliseconds: int) -> None:
        self._context, self._emit, self._key, self._milliseconds = context, emit, key, milliseconds
        self._passed: dict[Hashable, int] = {}
        """When a row of each key passed, by the app's clock; in that order."""
        self._is_swept = False
        context.keep(self, self._on_time)

    @property
    def key_count(self) -> int:
        return len(self._passed)

    def receive(self, chunk: Chunk) -> None:
        now, passed = self._context.now, self._passed
        self._forget(now)
        out: Chunk = []
        for event in chunk:
            key = self._key(event[2], event[1])
            if event[0] is CURRENT and key not in passed:
                passed[key] = now
                out.append(event)
        self._sweep_later()
        if out:
            self._emit(out)

    def _forget(self, now: int) -> None:
        over = []
        for key, at in self._passed.items():
            if now - at <= self._milliseconds:
                break
            over.append(key)
        for key in over:
            del self._passed[key]

    def _sweep_later(self) -> None:
        """So that keys go though no row comes: one look for all of them."""
        if self._passed and not self._is_swept:
            self._is_swept = True
            self._context.wake_at(self._context.now + self._milliseconds + 1)

    def _on_time(self, _due: int, _what: object) -> None:
        self._is_swept = False
        self._forget(self._context.now)
        self._sweep_later()

    def state(self) -> object:
        return self._passed, self._is_swept

    def restore(self, state: Any) -> None:
        self._passed, self._is_swept = state
