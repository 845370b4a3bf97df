"""Output rates: which of a query's rows go on, and when. By a number of rows, or every some time of the app's clock,
counted from its zero. With `group by`, first and last are those of each group. Semantics are Siddhi 5.1's.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar

from cep.apps.language.app_tree import OutputRate
from cep.apps.language.errors import AppTextError
from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.chunks import CURRENT, RESET, Chunk, Receiver, Row
from cep.apps.parts.selector import Selected, SelectedReceiver

MakeRate = Callable[[PartContext, Receiver], SelectedReceiver]


def _chunk(selected: list[Selected]) -> Chunk:
    if len(selected) == 1:
        return [selected[0][:3]]
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
        """Pass on as one chunk what the rows of a chunk complete."""
        rows = self.rows + [row for row in selected if row[0] is not RESET]
        full = len(rows) - len(rows) % self._events
        self.rows = rows[:full]
        self.flush()
        self.rows = rows[full:]


class FirstPerEvents(Stateful):
    """The first of every so many rows; of a group, if rows have one."""

    STATE = ("_counts",)

    def __init__(self, context: PartContext, emit: Receiver, events: int) -> None:
        self._emit, self._events = emit, events
        self._counts: dict[Hashable, int] = {}
        context.keep(self)

    def receive(self, selected: list[Selected]) -> None:
        out: Chunk = []
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
        """Pass on as one chunk what the rows of a chunk complete."""
        for row in selected:
            if row[0] is RESET:
                continue
            self._last[row[3]] = row
            self._count += 1
            if self._count == self._events:
                self.rows += self._last.values()
                self._count, self._last = 0, {}
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
    """Passes the first row, and the next one when the time since then is over; of a group, if rows have one."""

    STATE = ("_passed",)

    def __init__(self, context: PartContext, emit: Receiver, milliseconds: int) -> None:
        self._context, self._emit, self._milliseconds = context, emit, milliseconds
        self._passed: dict[Hashable, int] = {}
        context.keep(self)

    def receive(self, selected: list[Selected]) -> None:
        out: Chunk = []
        now = self._context.now
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


class _Snapshots(Stateful):
    """Gives what there is every `milliseconds`. A row whose time is that of the next snapshot or later brings it about
    itself, before it is taken, and one alone: if the clock moved past several, each row that leaves then is
    preceded by one of them."""

    STATE: ClassVar[tuple[str, ...]] = ("_next",)

    def __init__(self, context: PartContext, emit: Receiver, milliseconds: int) -> None:
        self._context, self._emit, self._milliseconds = context, emit, milliseconds
        self._next = context.now - context.now % milliseconds + milliseconds
        context.keep(self, self._on_time)
        context.wake_at(self._next)

    def _on_time(self, due: int, _: object) -> None:
        rows = self._due(due)
        if rows:
            self._emit(rows)

    def _due(self, at: int) -> Chunk:
        if at < self._next:
            return []
        self._next += self._milliseconds
        self._context.wake_at(self._next)
        return _chunk(self.rows())

    def rows(self) -> list[Selected]:
        """Return what a snapshot has now."""
        raise NotImplementedError


class LastSnapshot(_Snapshots):
    """Gives the last row, or that of each group, again and again. Of a query that keeps events there is nothing once
    the last thing that happened was that one left."""

    STATE = ("_next", "_last")

    def __init__(self, context: PartContext, emit: Receiver, milliseconds: int) -> None:
        super().__init__(context, emit, milliseconds)
        self._last: dict[Hashable, Selected] = {}

    def receive(self, selected: list[Selected]) -> None:
        out: Chunk = []
        for row in selected:
            out += self._due(row[1])
            if row[0] is not RESET:
                self._last[row[3]] = row
        if out:
            self._emit(out)

    def rows(self) -> list[Selected]:
        return [row for row in self._last.values() if row[0] is CURRENT]


class KeptSnapshot(_Snapshots):
    """Gives the rows that are in the query's window, with the newest values if columns are aggregated. With `group
    by` and aggregators it has one row for each group."""

    STATE = ("_next", "_kept", "_newest")

    def __init__(self, context: PartContext, emit: Receiver, milliseconds: int, given: "RateInput") -> None:
        super().__init__(context, emit, milliseconds)
        self._aggregated, self._is_grouped = given.aggregated, given.is_grouped
        self._kept: list[Selected] = []
        self._newest: dict[Hashable, Row] = {}

    def receive(self, selected: list[Selected]) -> None:
        out: Chunk = []
        for kind, at, row, key in selected:
            out += self._due(at)
            if kind is RESET:
                continue
            self._newest[key] = row
            if kind is CURRENT:
                self._kept.append((CURRENT, at, row, key))
            else:
                self._remove(row, key)
        if out:
            self._emit(out)

    def _remove(self, row: Row, key: Hashable) -> None:
        own = self._own(row)
        for place, (_, _, kept, of_key) in enumerate(self._kept):
            if of_key == key and self._own(kept) == own:
                del self._kept[place]
                return

    def _own(self, row: Row) -> Row:
        return tuple(value for place, value in enumerate(row) if place not in self._aggregated)

    def rows(self) -> list[Selected]:
        rows = [(kind, at, self._renewed(row, self._newest[key]), key) for kind, at, row, key in self._kept]
        if self._aggregated and self._is_grouped:
            firsts: dict[Hashable, Selected] = {}
            for row in rows:
                firsts.setdefault(row[3], row)
            rows = list(firsts.values())
        return rows

    def _renewed(self, row: Row, newest: Row) -> Row:
        if not self._aggregated:
            return row
        return tuple(newest[place] if place in self._aggregated else value for place, value in enumerate(row))


@dataclass(frozen=True, slots=True)
class RateInput:
    """What a snapshot has to know of its query."""

    keeps: bool = False
    """Whether it has a window."""
    is_grouped: bool = False
    aggregated: frozenset[int] = frozenset()
    """Positions of columns that are aggregated."""
    width: int = 0


def rate_plan(rate: OutputRate | None, given: RateInput) -> MakeRate:
    """Raise AppTextError."""
    if rate is None:
        return unlimited
    if rate.kind == "snapshot":
        return _snapshot(rate, given)
    size = rate.events if rate.events is not None else rate.milliseconds
    if not size:
        raise AppTextError(rate.at, "an output rate must be more than 0")
    return _per_events(rate, size) if rate.events is not None else _per_time(rate, size)


def _snapshot(rate: OutputRate, given: RateInput) -> MakeRate:
    milliseconds = rate.milliseconds
    if not milliseconds:
        raise AppTextError(rate.at, "a snapshot is given every some time, such as 5 sec")
    if not given.keeps or (not given.is_grouped and len(given.aggregated) == given.width):
        return lambda context, emit: LastSnapshot(context, emit, milliseconds).receive
    return lambda context, emit: KeptSnapshot(context, emit, milliseconds, given).receive


def _per_events(rate: OutputRate, events: int) -> MakeRate:
    match rate.kind:
        case "all":
            return lambda context, emit: AllPerEvents(context, emit, events).receive
        case "first":
            return lambda context, emit: FirstPerEvents(context, emit, events).receive
        case "last":
            return lambda context, emit: LastPerEvents(context, emit, events).receive
        case _:
            raise AppTextError(rate.at, "a snapshot is given every some time")


def _per_time(rate: OutputRate, milliseconds: int) -> MakeRate:
    match rate.kind:
        case "all":
            return lambda context, emit: AllPerTime(context, emit, milliseconds).receive
        case "first":
            return lambda context, emit: FirstPerTime(context, emit, milliseconds).receive
        case _:
            return lambda context, emit: LastPerTime(context, emit, milliseconds).receive
