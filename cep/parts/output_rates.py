"""Output rates: which of a query's rows go on, and when. By a number of rows, or every some time of the app's clock,
counted from its zero. With `group by`, first and last are those of each group. Semantics are Siddhi 5.1's.
"""

from collections.abc import Callable, Hashable
from typing import assert_never

from cep.language.app_tree import OutputRate
from cep.language.language_errors import AppTextError, AppUnsupportedError
from cep.parts.chunks import RESET, Chunk, EngineClock, Receiver
from cep.parts.selector import Selected, SelectedReceiver

MakeRate = Callable[[EngineClock, Receiver], SelectedReceiver]


def _chunk(selected: list[Selected]) -> Chunk:
    return [(kind, at, row) for kind, at, row, _ in selected]


def unlimited(_: EngineClock, emit: Receiver) -> SelectedReceiver:
    return lambda selected: emit(_chunk(selected))


class _Held:
    """Rows that wait."""

    def __init__(self, emit: Receiver) -> None:
        self._emit = emit
        self.rows: list[Selected] = []

    def flush(self) -> None:
        rows, self.rows = self.rows, []
        if rows:
            self._emit(_chunk(rows))


class AllPerEvents(_Held):
    def __init__(self, emit: Receiver, events: int) -> None:
        super().__init__(emit)
        self._events = events

    def receive(self, selected: list[Selected]) -> None:
        for row in selected:
            if row[0] is not RESET:
                self.rows.append(row)
                if len(self.rows) == self._events:
                    self.flush()


class FirstPerEvents:
    """The first of every so many rows; of a group, where rows have one."""

    def __init__(self, emit: Receiver, events: int) -> None:
        self._emit, self._events = emit, events
        self._counts: dict[Hashable, int] = {}

    def receive(self, selected: list[Selected]) -> None:
        out = Chunk()
        for kind, at, row, key in selected:
            if kind is RESET:
                continue
            count = self._counts.get(key, 0)
            self._counts[key] = (count + 1) % self._events
            if count == 0:
                out.append((kind, at, row))
        if out:
            self._emit(out)


class LastPerEvents(_Held):
    """The last of every so many rows, or of each group among them."""

    def __init__(self, emit: Receiver, events: int) -> None:
        super().__init__(emit)
        self._events, self._count = events, 0
        self._last: dict[Hashable, Selected] = {}

    def receive(self, selected: list[Selected]) -> None:
        for row in selected:
            if row[0] is RESET:
                continue
            self._last[row[3]] = row
            self._count += 1
            if self._count == self._events:
                self._count, self.rows, self._last = 0, list(self._last.values()), {}
                self.flush()


class _Timed(_Held):
    """Flushes every `milliseconds`."""

    def __init__(self, clock: EngineClock, emit: Receiver, milliseconds: int) -> None:
        super().__init__(emit)
        self._clock, self._milliseconds = clock, milliseconds
        self._schedule(clock.now - clock.now % milliseconds + milliseconds)

    def _schedule(self, due: int) -> None:
        self._clock.call_at(due, lambda: self._on_time(due))

    def _on_time(self, due: int) -> None:
        self._schedule(due + self._milliseconds)
        self.due()

    def due(self) -> None:
        self.flush()


class AllPerTime(_Timed):
    def receive(self, selected: list[Selected]) -> None:
        self.rows += [row for row in selected if row[0] is not RESET]


class FirstPerTime:
    """Passes the first row, and the next one when the time since then is over; of a group, where rows have one."""

    def __init__(self, clock: EngineClock, emit: Receiver, milliseconds: int) -> None:
        self._clock, self._emit, self._milliseconds = clock, emit, milliseconds
        self._passed: dict[Hashable, int] = {}

    def receive(self, selected: list[Selected]) -> None:
        out, now = Chunk(), self._clock.now
        for kind, at, row, key in selected:
            last = self._passed.get(key)
            if kind is not RESET and (last is None or last + self._milliseconds <= now):
                self._passed[key] = now
                out.append((kind, at, row))
        if out:
            self._emit(out)


class LastPerTime(_Timed):
    def __init__(self, clock: EngineClock, emit: Receiver, milliseconds: int) -> None:
        super().__init__(clock, emit, milliseconds)
        self._last: dict[Hashable, Selected] = {}

    def receive(self, selected: list[Selected]) -> None:
        self._last |= {row[3]: row for row in selected if row[0] is not RESET}

    def due(self) -> None:
        self.rows, self._last = list(self._last.values()), {}
        self.flush()


def rate_plan(rate: OutputRate | None) -> MakeRate:
    """Raises AppTextError, AppUnsupportedError."""
    if rate is None:
        return unlimited
    if rate.kind == "snapshot":
        raise AppUnsupportedError(rate.at, "output snapshot is not supported yet")
    size = rate.events if rate.events is not None else rate.milliseconds
    if not size:
        raise AppTextError(rate.at, "an output rate must be more than 0")
    return _per_events(rate, size) if rate.events is not None else _per_time(rate, size)


def _per_events(rate: OutputRate, events: int) -> MakeRate:
    match rate.kind:
        case "all":
            return lambda _, emit: AllPerEvents(emit, events).receive
        case "first":
            return lambda _, emit: FirstPerEvents(emit, events).receive
        case "last":
            return lambda _, emit: LastPerEvents(emit, events).receive
        case "snapshot":
            raise AppTextError(rate.at, "a snapshot is given every some time")
        case _:
            assert_never(rate.kind)


def _per_time(rate: OutputRate, milliseconds: int) -> MakeRate:
    match rate.kind:
        case "all":
            return lambda clock, emit: AllPerTime(clock, emit, milliseconds).receive
        case "first":
            return lambda clock, emit: FirstPerTime(clock, emit, milliseconds).receive
        case "last" | "snapshot":
            return lambda clock, emit: LastPerTime(clock, emit, milliseconds).receive
        case _:
            assert_never(rate.kind)
