"""Batches by a time that events have. Semantics are Siddhi 5.1's."""

from collections.abc import Hashable, Iterable
from typing import Any

from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.chunks import CURRENT, EXPIRED, RESET, Chunk, Event, Receiver, Row
from cep.apps.parts.windows import Key


class ExternalTimeBatchWindow(Stateful):
    """A batch for every `milliseconds` of the events' own time. With `timeout`, what there is of a batch is passed on
    if nothing came for so long by the app's clock, and again with what comes later."""

    STATE = ("_filling", "_expiring", "_first", "_start", "_end", "_newest", "_is_flushed", "_due")

    def __init__(
        self,
        context: PartContext,
        emit: Receiver,
        time_of: Key,
        milliseconds: int,
        *,
        start: int | Key | None = None,
        timeout: int = 0,
        replaces: int | None = None,
        key: Key | None = None,
    ) -> None:
        """`start`: when batches begin, by default with the first event. `replaces`: the position whose value becomes
        the batch's end. `key`: of a batch that has the last event of each alone; without a timeout."""
        self._context, self._emit, self._time_of, self._milliseconds = context, emit, time_of, milliseconds
        self._start_of, self._timeout, self._replaces, self._key = start, timeout, replaces, key
        self._filling: dict[Hashable, Event] = {}
        """By key, or by number if there is none; those that came last are last."""
        self._expiring: list[Row] = []
        self._times: list[int] = []
        """The times of what expires: when each row came."""
        self._first: Row | None = None
        """The first row of the batch: aggregators are reset before it."""
        self._start, self._end, self._newest, self._due = 0, -1, 0, 0
        self._is_flushed = False
        context.keep(self, self._on_time)

    def receive(self, chunk: Chunk) -> None:
        for _, at, row in chunk:
            time = self._time_of(row, at)
            if self._end < 0:
                self._begin(row, at, time)
            self._newest = max(self._newest, time)
            if time >= self._end:
                out = self._appended() if self._is_flushed else self._flushed()
                self._is_flushed = False
                self._end = self._end_after(self._newest)
                self._wait()
                self._fill(at, row)
                if out:
                    self._emit(out)
            else:
                self._fill(at, row)

    def _begin(self, row: Row, at: int, time: int) -> None:
        start = self._start_of
        if callable(start):
            self._start = start(row, at)
            self._end = self._start + self._milliseconds
        else:
            self._start = time if start is None else start
            self._end = self._end_after(time)
        self._wait()

    def _end_after(self, time: int) -> int:
        into = abs(time - self._start) % self._milliseconds
        return time + self._milliseconds - (into if time >= self._start else -into)

    def _wait(self) -> None:
        if self._timeout:
            self._due = self._context.now + self._timeout
            self._context.wake_at(self._due)

    def _fill(self, at: int, row: Row) -> None:
        if self._replaces is not None:
            row = (*row[: self._replaces], self._end, *row[self._replaces + 1 :])
        key = self._key(row, at) if self._key else len(self._filling)
        self._filling.pop(key, None)
        self._filling[key] = (CURRENT, at, row)
        self._first = self._first or row

    def _on_time(self, due: int, _what: object) -> None:
        if due < self._due:
            return
        out = self._appended() if self._is_flushed else self._flushed()
        self._is_flushed = True
        self._wait()
        if out:
            self._emit(out)

    def _flushed(self) -> Chunk:
        """Return the batch before it expires; then the batch."""
        out: Chunk = [(EXPIRED, self._newest, row) for row in self._expiring]
        self._expiring, self._times = [], []
        return [*out, *self._passed()]

    def _appended(self) -> Chunk:
        """As `_flushed`, if a part of the batch was passed on before: with that part again."""
        if not self._filling:
            return []
        before: Chunk = [(EXPIRED, self._newest, row) for row in self._expiring]
        again: Chunk = [(CURRENT, at, row) for at, row in zip(self._times, self._expiring, strict=True)]
        reset, *filled = self._passed()
        return [*before, reset, *again, *filled]

    def _passed(self) -> Chunk:
        filled, self._filling = list(self._filling.values()), {}
        if not filled:
            return []
        self._expiring += [row for _, _, row in filled]
        self._times += [at for _, at, _ in filled]
        first, self._first = self._first or (), None
        return [(RESET, self._newest, first), *filled]

    def state(self) -> object:
        return super().state(), self._times

    def restore(self, state: Any) -> None:
        # a snapshot of an earlier release has no times
        has_times = len(state) != len(self.STATE)
        super().restore(state[0] if has_times else state)
        self._times = state[1] if has_times else [self._newest] * len(self._expiring)

    def rows(self) -> Iterable[Event]:
        return [(EXPIRED, self._newest, row) for row in self._expiring]
