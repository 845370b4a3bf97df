"""What a query selects of each chunk: grouped, aggregated, filtered by `having`, in order, limited.

With aggregators a chunk has one output, and with `group by` one for each group in the order in which the groups were
first met: the last event of it that is of a wanted kind and passes `having`. Order, limit and offset are per chunk. As
in Siddhi 5.1.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import groupby
from operator import itemgetter
from typing import Any

from cep.apps.parts.aggregators import Aggregator, AggregatorKind
from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.chunks import CURRENT, EXPIRED, RESET, Chunk, Kind, Row
from cep.apps.parts.windows import compared

MOST_ALONE = 2
"""Fewer rows than this have a group each."""
Selected = tuple[Kind, int, Row, Hashable]
"""An output with its group."""
SelectedReceiver = Callable[[list[Selected]], None]


Outputs = Callable[[Row, int, Sequence[object]], Row]
"""Takes a row, its time and the aggregators' values."""
Group = Callable[[Row, int], Hashable]
"""Takes a row and its time."""
Having = Callable[[Row, Row, int, Sequence[object]], bool]
"""Takes an output, the row that it was made of, its time and the aggregators' values."""


@dataclass(frozen=True, slots=True)
class SelectionSource:
    """The Python of a selection's functions, for one that does all that its query does."""

    outputs: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    group: str | None = None
    having: str | None = None


@dataclass(frozen=True, slots=True)
class SelectorPlan:
    """A compiled selection; the functions are generated."""

    outputs: Outputs
    arguments: Callable[[Row, int], Row]
    """What each aggregator is given."""
    kinds: tuple[AggregatorKind, ...] = ()
    group: Group | None = None
    having: Having | None = None
    order: tuple[tuple[int, bool], ...] = ()
    """Positions of outputs, and whether they descend."""
    width: int | None = None
    """How many outputs are selected; those behind them are only ordered by. None: all are selected."""
    limit: int | None = None
    offset: int = 0
    wanted: frozenset[Kind] = frozenset((CURRENT,))
    is_per_event: bool = False
    """Every event has an output of its own, with aggregators too."""
    source: SelectionSource = SelectionSource(())


class Selector(Stateful):
    """The state of one selection: the aggregators of each group."""

    def __init__(self, plan: SelectorPlan, context: PartContext, emit: SelectedReceiver) -> None:
        self._plan, self.emit = plan, emit
        self._groups: dict[Hashable, list[Aggregator]] = {}
        # looked at for every event; a set of an enumeration is slow to ask
        self._wants_current, self._wants_expired = CURRENT in plan.wanted, EXPIRED in plan.wanted
        if plan.kinds:
            context.keep(self)

    @property
    def group_count(self) -> int:
        """How many there are."""
        return len(self._groups)

    @property
    def kept_values(self) -> int:
        """How many values its aggregators keep, of those that keep all of them."""
        places = [place for place, kind in enumerate(self._plan.kinds) if kind.keeps_values]
        if not places:
            return 0
        return sum(getattr(group[place], "kept_values", 0) for group in self._groups.values() for place in places)

    def state(self) -> object:
        return [(key, [one.state() for one in aggregators]) for key, aggregators in self._groups.items()]

    def restore(self, state: Any) -> None:
        for key, of_aggregators in state:
            # a generated function may hold the one that is there if nothing is grouped
            aggregators = self._groups.get(key) or self.new_group(key)
            for aggregator, of_one in zip(aggregators, of_aggregators, strict=True):
                aggregator.restore(of_one)

    def receive(self, chunk: Chunk) -> None:
        selected = self._selected(chunk)
        if selected:
            self.emit(selected)

    def receive_all(self, chunks: Iterable[Chunk]) -> None:
        """Each chunk for itself, and what is selected of all of them together."""
        selected = [row for chunk in chunks for row in self._selected(chunk)]
        if selected:
            self.emit(selected)

    def _selected(self, chunk: Chunk) -> list[Selected]:
        selected = self._aggregated(chunk) if self._plan.kinds else self._plain(chunk)
        if selected and (self._plan.order or self._plan.limit is not None or self._plan.offset):
            return self._shown(self._limited(self._ordered(selected)))
        return selected

    def _ordered(self, selected: list[Selected]) -> list[Selected]:
        """Rows of one kind that follow each other are ordered among themselves; resets go."""
        out: list[Selected] = []
        for kind, run in groupby(selected, key=itemgetter(0)):
            rows = list(run) if kind is not RESET else []
            out += sorted(rows, key=cmp_to_key(self._compared)) if self._plan.order else rows
        return out

    def _shown(self, rows: list[Selected]) -> list[Selected]:
        """Return what is selected of each."""
        width = self._plan.width
        if width is None or all(position < width for position, _ in self._plan.order):
            return rows
        return [(kind, at, row[:width], key) for kind, at, row, key in rows]

    def _limited(self, rows: list[Selected]) -> list[Selected]:
        """All rows count, but past the limit only current ones are left out."""
        rows, limit = rows[self._plan.offset :], self._plan.limit
        if limit is None:
            return rows
        return [row for place, row in enumerate(rows) if place < limit or row[0] is not CURRENT]

    def _plain(self, chunk: Chunk) -> list[Selected]:
        plan = self._plan
        out: list[Selected] = []
        wants_current, wants_expired = self._wants_current, self._wants_expired
        for kind, at, row in chunk:
            if (kind is CURRENT and wants_current) or (kind is EXPIRED and wants_expired):
                values = plan.outputs(row, at, ())
                if plan.having is None or plan.having(values, row, at, ()):
                    out.append((kind, at, values, None if plan.group is None else plan.group(row, at)))
            elif kind is RESET and plan.group is None:
                # no row, but listeners to the query see its time
                out.append((kind, at, (), None))
        if plan.group is None or plan.is_per_event or len(out) < MOST_ALONE:
            return out
        return list({selected[3]: selected for selected in out}.values())

    def _aggregated(self, chunk: Chunk) -> list[Selected]:
        plan = self._plan
        last: dict[Hashable, Selected] = {}
        outputs: list[Selected] = []
        wants_current, wants_expired = self._wants_current, self._wants_expired
        for kind, at, row in chunk:
            if kind is RESET:
                self._reset()
                continue
            key = None if plan.group is None else plan.group(row, at)
            aggregators = self._groups.get(key) or self.new_group(key)
            given = zip(aggregators, plan.arguments(row, at), strict=True)
            if kind is CURRENT:
                for aggregator, argument in given:
                    aggregator.add(argument)
                is_wanted = wants_current
            else:
                for aggregator, argument in given:
                    aggregator.remove(argument)
                is_wanted = wants_expired
            if is_wanted:
                aggregated = [aggregator.value for aggregator in aggregators]
                values = plan.outputs(row, at, aggregated)
                if plan.having is None or plan.having(values, row, at, aggregated):
                    last[key] = (kind, at, values, key)
                    outputs.append(last[key])
        return outputs if plan.is_per_event else list(last.values())

    @property
    def by_group(self) -> dict[Hashable, list[Aggregator]]:
        """The aggregators of each group. The dictionary stays the same: generated functions hold it."""
        return self._groups

    def new_group(self, key: Hashable) -> list[Aggregator]:
        aggregators = self._groups[key] = [one.make() for one in self._plan.kinds]
        return aggregators

    def _reset(self) -> None:
        for aggregators in self._groups.values():
            for aggregator in aggregators:
                aggregator.reset()

    def _compared(self, left: Selected, right: Selected) -> int:
        for position, is_descending in self._plan.order:
            first, second = left[2][position], right[2][position]
            order = compared(first, second)
            if order:
                # null comes last in either direction
                return -order if is_descending and first is not None and second is not None else order
        return 0
