"""Output rates: which of a query's rows go on, and when. By a number of rows, or every some time of the app's clock,
counted from its zero. With `group by`, first and last are those of each group. Semantics are Siddhi 5.1's.
"""

from collections.abc import Callable, Hashable
from typing import ClassVar, assert_never

from cep.language.app_tree import OutputRate
from cep.language.language_errors import AppTextError, AppUnsupportedError
from cep.parts.app_context import PartContext, Stateful
from cep.parts.chunks import RESET, Chunk, Receiver
from cep.parts.selector import Selected, SelectedReceiver

MakeRate = Callable[[PartContext, Receiver], SelectedReceiver]


def _chunk(selected: list[Selected]) -> Chunk:
    return [(kind, at, row) for kind, at, row, _ in selected]


def unlimited(_: PartContext, emit: Receiver) -> SelectedReceiver:
    return lambda selected: emit(_chunk(selected))


class _Held(Stateful):
    """Rows that wait."""

    STATE: ClassVar[tuple[str, ...]] = ("rows",)

    def __init__(self, emit: Receiver) -> None:
        self._emit = emit
        self.rows: list[Selected] = []

    def flush(self) -> None:
        rows, self.rows = self.rows, []
        if rows:
            self._emit(_chunk(rows))


class AllPerEvents(_Held):
    def __init__(self, context: PartContext, emit: Receiver, events: int) -> None:
        super().__init__(emit)
        self._events = events
        context.keep(self)

    def receive(self, selected: list[Selected]) -> None:
        for row in selected:
            if row[0] is not RESET:
                self.rows.append(row)
                if len(self.rows) == self._events:
                    self.flush()


class FirstPerEvents(Stateful):
    """The first of every so many rows; of a group, where rows have one."""

    STATE = ("_counts",)

    def __init__(self, context: PartContext, emit: Receiver, events: int) -> None:
        self._emit, self._events = emit, events
        self._counts: dict[Hashable, int] = {}
        context.keep(self)

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

    STATE = ("rows", "_count", "_last")

    def __init__(self, context: PartContext, emit: Receiver, events: int) -> None:
        super().__init__(emit)
        self._events, self._count = events, 0
        self._last: dict[Hashable, Selected] = {}
        context.keep(self)

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

    def __init__(self, context: PartContext, emit: Receiver, milliseconds: int) -> None:
        super().__init__(emit)
        self._context, self._milliseconds = context, milliseconds
        context.keep(self, self._on_time)
        context.wake_at(context.now - context.now % milliseconds + milliseconds)

    def _on_time(self, due: int, _: object) -> None:
        self._context.wake_at(due + self._milliseconds)
        self.due()

    def due(self) -> None:
        self.flush()


class AllPerTime(_Timed):
    def receive(self, selected: list[Selected]) -> None:
        self.rows += [row for row in selected if row[0] is not RESET]


class FirstPerTime(Stateful):
    """Passes the first row, and the next one when the time since then is over; of a group, where rows have one."""

    STATE = ("_passed",)

    def __init__(self, context: PartContext, emit: Receiver, milliseconds: int) -> None:
        self._context, self._emit, self._milliseconds = context, emit, milliseconds
        self._passed: dict[Hashable, int] = {}
        context.keep(self)

    def receive(self, selected: list[Selected]) -> None:
        out, now = Chunk(), self._context.now
        for kind, at, row, key in selected:
            last = self._passed.get(key)
            if kind is not RESET and (last is None or last + self._milliseconds <= now):
                self._passed[key] = now
                out.append((kind, at, row))
        if out:
            self._emit(out)


class LastPerTime(_Timed):
    STATE = ("rows", "_last")

    def __init__(self, context: PartContext, emit: Receiver, milliseconds: int) -> None:
        super().__init__(context, emit, milliseconds)
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
            return lambda context, emit: AllPerEvents(context, emit, events).receive
        case "first":
            return lambda context, emit: FirstPerEvents(context, emit, events).receive
        case "last":
            return lambda context, emit: LastPerEvents(context, emit, events).receive
        case "snapshot":
            raise AppTextError(rate.at, "a snapshot is given every some time")
        case _:
            assert_never(rate.kind)


def _per_time(rate: OutputRate, milliseconds: int) -> MakeRate:
    match rate.kind:
        case "all":
            return lambda context, emit: AllPerTime(context, emit, milliseconds).receive
        case "first":
            return lambda context, emit: FirstPerTime(context, emit, milliseconds).receive
        case "last" | "snapshot":
            return lambda context, emit: LastPerTime(context, emit, milliseconds).receive
        case _:
            assert_never(rate.kind)
