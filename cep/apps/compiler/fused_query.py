"""One Python function for all that one row does in a query, without a list of one event between its parts.

What a query means is defined by its parts (`cep.apps.parts`): they keep the state, take chunks of several events,
and what the clock brings.
Of the common shapes (filters; then no window, `length` or `time`; then a selection of what comes) a
function is generated beside them, which does with one row what they do, on the same state. A snapshot does not tell
which of both ran, and either goes on from it.

A second function does the same with a row of the log, whose time moves the clock first: for the query that is the
first to read a stream, so that a row costs one call.

Nothing is selected of what leaves a window `time`, so it leaves when the next row comes. The clock looks after such a
window only once in its length, for what no row drives out.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from cep.apps.compiler.expression_code import bound_columns, functions_made, tuple_source
from cep.apps.compiler.stages import FilterStage, MakeStage, WindowStage
from cep.apps.compiler.window_plans import LengthPlan, TimePlan
from cep.apps.parts.app_context import AppContext
from cep.apps.parts.chunks import CURRENT, EXPIRED, Receiver, RowTaker
from cep.apps.parts.scope import Environment
from cep.apps.parts.selector import SelectionSource, Selector, SelectorPlan
from cep.apps.parts.windows import EventWindow

STEP = "    "
LETTERS = "axnt"
"""Of what stands in an aggregator's Python: its state, the value, and two names of its own."""
OF_A_COLUMN = re.compile(r"row\[\d+\]")
"""The Python of a value that cannot fail."""
OF_THE_CLOCK = re.compile(r"\b(at|app)\b")
"""What the Python of a value has that depends on more than its row."""
Bind = Callable[[AppContext, EventWindow | None, Selector, list[Receiver], list[RowTaker]], RowTaker]
"""The function for one instance of the query: with the clock, its window, its selector, who listens to the
query, and what takes the rows of the stream that it writes to (`Junction.outlet`)."""
BindFirst = Callable[
    [AppContext, EventWindow | None, Selector, list[Receiver], list[RowTaker], Sequence[RowTaker | None]],
    RowTaker,
]
"""The same of the function that takes a row of the log, with what else the stream's rows are given to, behind the query
(`Junction.rest`)."""


@dataclass(frozen=True, slots=True)
class FusedPlan:
    """`source`: the Python that `bind` is of. `waits`: whether it leaves to the next row what the clock would do."""

    source: str
    bind: Bind
    bind_first: BindFirst
    waits: bool


@dataclass(frozen=True, slots=True)
class QueryShape:
    """A query for which one function can be made. `columns`: statements that give names to what its conditions have
    read of the row that came; `came`: the selection's Python for that row, with these names."""

    columns: tuple[str, ...]
    conditions: tuple[str, ...]
    window: LengthPlan | TimePlan | None
    selection: SelectorPlan
    came: SelectionSource
    writes: bool
    """Whether its rows go straight into a stream: there is no output rate, table or named window between."""
    is_named: bool
    """Whether listeners can ask for the query's own chunks."""


def query_shape(
    stages: Sequence[MakeStage], selection: SelectorPlan, *, writes: bool, is_named: bool
) -> QueryShape | None:
    """None if the query's parts have to do it."""
    conditions, window = list[str](), None
    for stage in stages:
        if isinstance(stage, FilterStage) and window is None:
            conditions.append(stage.source)
        elif isinstance(stage, WindowStage) and window is None and isinstance(stage.make, LengthPlan | TimePlan):
            window = stage.make
        else:
            return None
    if not _is_simple(selection, window):
        return None
    columns, renamed = bound_columns(conditions)
    came = _renamed(selection.source, renamed)
    tests = tuple(map(renamed, conditions))
    return QueryShape(tuple(columns), tests, window, selection, came, writes, is_named)


def _renamed(source: SelectionSource, renamed: Callable[[str], str]) -> SelectionSource:
    return SelectionSource(
        tuple(map(renamed, source.outputs)),
        tuple(map(renamed, source.arguments)),
        None if source.group is None else renamed(source.group),
        None if source.having is None else renamed(source.having),
    )


def _is_simple(selection: SelectorPlan, window: LengthPlan | TimePlan | None) -> bool:
    """Whether one row gives one row at most, and what leaves gives none."""
    if selection.order or selection.limit is not None or selection.offset or selection.is_per_event:
        return False
    if CURRENT not in selection.wanted or (window is not None and EXPIRED in selection.wanted):
        return False
    if isinstance(window, LengthPlan):
        return window.length > 0
    # what has a time ahead of the clock would leave a window of no time at once, again and again
    if isinstance(window, TimePlan) and window.milliseconds <= 0:
        return False
    return window is None or not any(OF_THE_CLOCK.search(source) for source in _of_what_left(selection))


def fused_plan(shape: QueryShape, environment: Environment) -> FusedPlan:
    source, of_first = ("\n".join(lines) + "\n" for lines in (_lines(shape), _lines_of_first(shape)))
    names = {**environment.names, "CURRENT": CURRENT, "EXPIRED": EXPIRED}
    bind, bind_first = functions_made(source + of_first, ("bind", "bind_first"), replace(environment, names=names))
    return FusedPlan(source, cast(Bind, bind), cast(BindFirst, bind_first), isinstance(shape.window, TimePlan))


def _lines(shape: QueryShape) -> Iterator[str]:
    yield "def bind(clock, window, selector, query_listeners, outlet):"
    yield from _indented(_bound(shape))
    yield f"{STEP}def take(at, row):"
    yield from _indented(_body(shape, "return"), 2)
    yield f"{STEP}return take"


def _lines_of_first(shape: QueryShape) -> Iterator[str]:
    yield "def bind_first(clock, window, selector, query_listeners, outlet, rest):"
    yield from _indented(_bound(shape))
    yield f"{STEP}def send(at, row):"
    body = [
        # as `AppContext.advance` does, without its calls
        "if at > clock.now: clock.now = at",
        # looked at for every row: that something is None is seen at once, that a list is empty is not
        "if clock.first_due is not None and clock.first_due <= clock.now: clock.advance(at)",
        "while True:",
        *_indented([*_body(shape, "break"), "break"]),
        "if rest[0] is not None: rest[0](at, row)",
    ]
    yield from _indented(body, 2)
    yield f"{STEP}return send"


def _body(shape: QueryShape, leave: str) -> list[str]:
    """Return what is done with one row. `leave`: the statement by which a row that gives nothing is left."""
    return [
        *shape.columns,
        *(f"if not ({condition}): {leave}" for condition in shape.conditions),
        *_entered(shape),
        *_selected(shape, leave),
        *_passed_on(shape),
    ]


def _bound(shape: QueryShape) -> list[str]:
    """Return what is the same for every row."""
    deque = "window.kept" if isinstance(shape.window, LengthPlan) else "window.rows()"
    kept = [] if shape.window is None else [f"kept = {deque}", "enter, leave = kept.append, kept.popleft"]
    emit = [] if shape.writes else ["emit = selector.emit"]
    if not shape.selection.kinds:
        return [*kept, *emit]
    groups = "groups, new_group = selector.by_group, selector.new_group"
    return [*kept, *emit, groups, *([] if shape.selection.source.group else _states(shape.selection))]


def _indented(lines: Iterable[str], steps: int = 1) -> list[str]:
    return [STEP * steps + line for line in lines]


def _entered(shape: QueryShape) -> list[str]:
    """Return the row enters its window, and what leaves is taken from the aggregators."""
    window = shape.window
    if window is None:
        return []
    if not _has_one_step(shape):
        return _in_two_steps(window, shape.selection)
    if isinstance(window, TimePlan):
        return _moved_on(window, shape)
    return _exchanged(window.length, shape)


def _in_two_steps(window: LengthPlan | TimePlan, selection: SelectorPlan) -> list[str]:
    match window:
        case LengthPlan(length=length):
            return ["enter(row)", f"if len(kept) > {length}:", *_indented(_left(selection, "leave()"))]
        case TimePlan(milliseconds=milliseconds):
            return [
                f"oldest = clock.now - {milliseconds}",
                "while kept and kept[0][1] <= oldest:",
                *_indented(_left(selection, "leave()[2]")),
                "enter((EXPIRED, at, row))",
                "if not window.is_swept: window.sweep_later()",
            ]


def _left(selection: SelectorPlan, leave: str) -> list[str]:
    """Return what leaves is taken from the aggregators. `leave`: the Python of the row."""
    steps, of_row = [kind.source.remove for kind in selection.kinds], _of_what_left(selection)
    if not steps:
        return [leave]
    if all(OF_A_COLUMN.fullmatch(source) for source in of_row if source):
        return [f"old = {leave}", *_of_aggregators(selection, _of_old(selection.source), steps, "bymu")]
    before, after = ["came = row"], ["row = came"]
    if any(OF_THE_CLOCK.search(source) for source in of_row):
        before, after = ["came, at = (row, at), clock.now"], ["row, at = came"]
    return [*before, f"row = {leave}", *_of_aggregators(selection, selection.source, steps), *after]


def _of_old(source: SelectionSource) -> SelectionSource:
    """Return the Python of columns alone for a row that leaves."""
    group = None if source.group is None else source.group.replace("row", "old")
    return replace(source, group=group, arguments=tuple(one.replace("row", "old") for one in source.arguments))


def _has_one_step(shape: QueryShape) -> bool:
    """Whether a row comes and others leave all aggregators at once. Decimals are left out, and what is computed: there
    one of the two steps may fail alone."""
    selection = shape.selection
    return (
        shape.window is not None
        and bool(selection.kinds)
        and selection.source.group is None
        and all(kind.source.exchange and kind.type == "double" for kind in selection.kinds)
        and all(OF_A_COLUMN.fullmatch(source) for source in selection.source.arguments)
    )


def _moved_on(window: TimePlan, shape: QueryShape) -> list[str]:
    """Return the row enters a window `time`, and what leaves is taken from sums that are written back once."""
    kinds = shape.selection.kinds
    names, sources = [_names(number) for number in range(len(kinds))], [kind.source for kind in kinds]
    olds = [
        line
        for name, one, argument in zip(names, sources, _of_old(shape.selection.source).arguments, strict=True)
        for line in (f"{name['x']} = {argument}", one.leave.format(**name))
    ]
    come = [
        line
        for name, one, argument in zip(names, sources, shape.came.arguments, strict=True)
        for line in (f"{name['x']} = {argument}", one.come.format(**name), one.store.format(**name))
    ]
    return [
        *(one.load.format(**name) for name, one in zip(names, sources, strict=True)),
        f"oldest = clock.now - {window.milliseconds}",
        "while kept and kept[0][1] <= oldest:",
        *_indented(["old = leave()[2]", *olds]),
        "enter((EXPIRED, at, row))",
        "if not window.is_swept: window.sweep_later()",
        *come,
    ]


def _exchanged(length: int, shape: QueryShape) -> list[str]:
    """Return the row enters a window `length`, and takes the place of the one that leaves."""
    kinds, of_old = shape.selection.kinds, _of_old(shape.selection.source).arguments
    names = [_names(number) | {"o": f"o{number}"} for number in range(len(kinds))]
    olds = [f"{name['o']} = {source}" for name, source in zip(names, of_old, strict=True)]
    both = [
        line
        for name, kind in zip(names, kinds, strict=True)
        for line in (
            f"if {name['o']} is not None and {name['x']} is not None: {kind.source.exchange.format(**name)}",
            "else:",
            *_indented(kind.source.remove.format(**{**name, "x": name["o"]}).splitlines()),
            *_indented(kind.source.add.format(**name).splitlines()),
        )
    ]
    came = [
        line for name, kind in zip(names, kinds, strict=True) for line in kind.source.add.format(**name).splitlines()
    ]
    return [
        *(f"{name['x']} = {source}" for name, source in zip(names, shape.came.arguments, strict=True)),
        "enter(row)",
        f"if len(kept) > {length}:",
        *_indented(["old = leave()", *olds, *both]),
        "else:",
        *_indented(came),
    ]


def _of_what_left(selection: SelectorPlan) -> list[str]:
    """Return what is computed of a row that leaves."""
    return [selection.source.group or "", *selection.source.arguments]


def _states(selection: SelectorPlan, key: str | None = None, state: str = "a") -> list[str]:
    """Return the states of a group as a0, a1, …; without `key` of all rows."""
    names = "".join(f"{state}{number}, " for number in range(len(selection.kinds)))
    return [f"key = {key}", f"try: {names}= groups[key]", f"except KeyError: {names}= new_group(key)"]


def _of_aggregators(
    selection: SelectorPlan, source: SelectionSource, steps: Sequence[str], letters: str = LETTERS
) -> list[str]:
    """Return what a row's group does with the row; nothing without aggregators. `source`: of the row; `letters`: in
    whose place which others are. Rows that are not grouped have one state for all."""
    if not steps:
        return []
    state = letters[0] if source.group else LETTERS[0]
    letters, value = state + letters[1:], letters[1]
    return [
        *(_states(selection, source.group, state) if source.group else []),
        *(f"{value}{number} = {argument}" for number, argument in enumerate(source.arguments)),
        *(line for number, step in enumerate(steps) for line in step.format(**_names(number, letters)).splitlines()),
    ]


def _selected(shape: QueryShape, leave: str) -> list[str]:
    selection, came = shape.selection, shape.came
    steps = [] if _has_one_step(shape) else [kind.source.add for kind in selection.kinds]
    values = [
        f"{aggregated_name(number)} = {kind.source.value.format(**_names(number))}"
        for number, kind in enumerate(selection.kinds)
    ]
    having = [] if came.having is None else [f"if not ({came.having}): {leave}"]
    given = [] if _is_passed_straight_on(shape) else [f"out = {_outputs(shape)}"]
    return [*_of_aggregators(selection, came, steps), *values, *given, *having]


def _outputs(shape: QueryShape) -> str:
    known = _known(shape.selection)
    both = zip(shape.selection.source.outputs, shape.came.outputs, strict=True)
    return tuple_source([known.get(output, of_came) for output, of_came in both])


def _is_passed_straight_on(shape: QueryShape) -> bool:
    """Whether what is selected needs no name."""
    return shape.writes and not shape.is_named and shape.came.having is None


def _known(selection: SelectorPlan) -> dict[str, str]:
    """Return what columns of the row are called, of those that the aggregators were given it by."""
    source = selection.source
    names = {argument: f"x{number}" for number, argument in enumerate(source.arguments)}
    if source.group is not None and selection.kinds:
        names[source.group] = "key"
    return {column: name for column, name in names.items() if OF_A_COLUMN.fullmatch(column)}


def _names(number: int, letters: str = LETTERS) -> dict[str, str]:
    """Return what the Python of an aggregator is filled in with."""
    return {letter: f"{other}{number}" for letter, other in zip(LETTERS, letters, strict=True)}


def aggregated_name(number: int) -> str:
    """Return what the Python of outputs calls an aggregator's value."""
    return f"aggregated{number}"


def _passed_on(shape: QueryShape) -> list[str]:
    if _is_passed_straight_on(shape):
        return [f"outlet[0](at, {_outputs(shape)})"]
    if shape.writes:
        of_query = ["for listener in query_listeners: listener([(CURRENT, at, out)])"] if shape.is_named else []
        return [
            *of_query,
            "outlet[0](at, out)",
        ]
    group = shape.selection.source.group
    key = [] if shape.selection.kinds else [f"key = {group}"]
    return [*key, "emit([(CURRENT, at, out, key)])"]
