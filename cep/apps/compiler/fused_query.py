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

from cep.apps.compiler.expression_code import functions_made, tuple_source
from cep.apps.compiler.stages import FilterStage, MakeStage, WindowStage
from cep.apps.compiler.window_plans import LengthPlan, TimePlan
from cep.apps.parts.app_context import AppContext, Wait
from cep.apps.parts.chunks import CURRENT, EXPIRED, Receiver, RowTaker
from cep.apps.parts.scope import Environment
from cep.apps.parts.selector import Selector, SelectorPlan
from cep.apps.parts.windows import EventWindow

STEP = "    "
OF_A_COLUMN = re.compile(r"row\[\d+\]")
"""The Python of a value that cannot fail."""
OF_THE_CLOCK = re.compile(r"\b(at|app)\b")
"""What the Python of a value has that depends on more than its row."""
Bind = Callable[[AppContext, EventWindow | None, Selector, list[Receiver], list[RowTaker]], RowTaker]
"""The function for one instance of the query: with the clock, its window, its selector, who listens to the
query, and what takes the rows of the stream that it writes to (`Junction.outlet`)."""
BindFirst = Callable[
    [AppContext, EventWindow | None, Selector, list[Receiver], list[RowTaker], Sequence[Wait], Sequence[RowTaker]],
    RowTaker,
]
"""The same of the function that takes a row of the log, with what the clock waits for, and what else the stream's rows
are given to, behind the query; both lists may change."""


@dataclass(frozen=True, slots=True)
class FusedPlan:
    """`source`: the Python that `bind` is of. `waits`: whether it leaves to the next row what the clock would do."""

    source: str
    bind: Bind
    bind_first: BindFirst
    waits: bool


@dataclass(frozen=True, slots=True)
class QueryShape:
    """A query for which one function can be made."""

    conditions: tuple[str, ...]
    window: LengthPlan | TimePlan | None
    selection: SelectorPlan
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
    shape = QueryShape(tuple(conditions), window, selection, writes, is_named)
    return shape if _is_simple(selection, window) else None


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
    yield "def bind_first(clock, window, selector, query_listeners, outlet, waits, others):"
    yield from _indented(_bound(shape))
    yield f"{STEP}def send(at, row):"
    body = [
        # as `AppContext.advance` does, without its calls
        "if at > clock.now: clock.now = at",
        "if waits and waits[0][0] <= clock.now: clock.advance(at)",
        "while True:",
        *_indented([*_body(shape, "break"), "break"]),
        "if others:",
        f"{STEP}for taker in others: taker(at, row)",
    ]
    yield from _indented(body, 2)
    yield f"{STEP}return send"


def _body(shape: QueryShape, leave: str) -> list[str]:
    """Return what is done with one row. `leave`: the statement by which a row that gives nothing is left."""
    return [
        *(f"if not {condition}: {leave}" for condition in shape.conditions),
        *_entered(shape),
        *_selected(shape, leave),
        *_passed_on(shape),
    ]


def _bound(shape: QueryShape) -> list[str]:
    """Return what is the same for every row."""
    kept = [] if shape.window is None else ["kept = window.rows()", "enter, leave = kept.append, kept.popleft"]
    emit = [] if shape.writes else ["emit = selector.emit"]
    if not shape.selection.kinds:
        return [*kept, *emit]
    groups = "groups, new_group = selector.by_group, selector.new_group"
    return [*kept, *emit, groups, *([] if shape.selection.source.group else _states(shape.selection))]


def _indented(lines: Iterable[str], steps: int = 1) -> list[str]:
    return [STEP * steps + line for line in lines]


def _entered(shape: QueryShape) -> list[str]:
    """Return the row enters its window, and what leaves is taken from the aggregators."""
    window, selection = shape.window, shape.selection
    if window is None:
        return []
    if not _has_one_step(shape):
        return _in_two_steps(window, selection)
    if isinstance(window, TimePlan):
        return _moved_on(window, selection)
    return _exchanged(window.length, selection)


def _in_two_steps(window: LengthPlan | TimePlan, selection: SelectorPlan) -> list[str]:
    removed = _of_aggregators(selection, [kind.source.remove for kind in selection.kinds])
    match window:
        case LengthPlan(length=length):
            before, after = ["came, at = (row, at), clock.now"], ["row, at = came"]
            if not any(OF_THE_CLOCK.search(source) for source in _of_what_left(selection)):
                before, after = ["came = row"], ["row = came"]
            left = [*before, "row = leave()[2]", *removed, *after] if removed else ["leave()"]
            return ["enter((EXPIRED, at, row))", f"if len(kept) > {length}:", *_indented(left)]
        case TimePlan(milliseconds=milliseconds):
            return [
                f"oldest, came = clock.now - {milliseconds}, row",
                "while kept and kept[0][1] <= oldest:",
                *_indented(["row = leave()[2]", *removed]),
                "row = came",
                "enter((EXPIRED, at, row))",
                "if not window.is_swept: window.sweep_later()",
            ]


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


def _moved_on(window: TimePlan, selection: SelectorPlan) -> list[str]:
    """Return the row enters a window `time`, and what leaves is taken from sums that are written back once."""
    names = [_names(number) for number in range(len(selection.kinds))]
    sources = [kind.source for kind in selection.kinds]
    olds = [
        line
        for name, one, argument in zip(names, sources, selection.source.arguments, strict=True)
        for line in (f"{name['x']} = {argument.replace('row', 'old')}", one.leave.format(**name))
    ]
    come = [
        line
        for name, one, argument in zip(names, sources, selection.source.arguments, strict=True)
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


def _exchanged(length: int, selection: SelectorPlan) -> list[str]:
    """Return the row enters a window `length`, and takes the place of the one that leaves."""
    kinds, arguments = selection.kinds, selection.source.arguments
    names = [_names(number) | {"o": f"o{number}"} for number in range(len(kinds))]
    olds = [f"{name['o']} = {source.replace('row', 'old')}" for name, source in zip(names, arguments, strict=True)]
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
        *(f"{name['x']} = {source}" for name, source in zip(names, arguments, strict=True)),
        "enter((EXPIRED, at, row))",
        f"if len(kept) > {length}:",
        *_indented(["old = leave()[2]", *olds, *both]),
        "else:",
        *_indented(came),
    ]


def _of_what_left(selection: SelectorPlan) -> list[str]:
    """Return what is computed of a row that leaves."""
    return [selection.source.group or "", *selection.source.arguments]


def _states(selection: SelectorPlan) -> list[str]:
    """Return the states of the row's group, or of all rows, as a0, a1, …."""
    group, names = selection.source.group, "".join(f"a{number}, " for number in range(len(selection.kinds)))
    return [f"key = {group}", f"try: {names}= groups[key]", f"except KeyError: {names}= new_group(key)"]


def _of_aggregators(selection: SelectorPlan, steps: Sequence[str]) -> list[str]:
    """Return what the row's group does with the row; nothing without aggregators."""
    return [
        *(_states(selection) if selection.source.group and steps else []),
        *(f"x{number} = {argument}" for number, argument in enumerate(selection.source.arguments)),
        *(line for number, step in enumerate(steps) for line in step.format(**_names(number)).splitlines()),
    ]


def _selected(shape: QueryShape, leave: str) -> list[str]:
    selection, source = shape.selection, shape.selection.source
    added = [] if _has_one_step(shape) else _of_aggregators(selection, [kind.source.add for kind in selection.kinds])
    values = [
        f"{aggregated_name(number)} = {kind.source.value.format(**_names(number))}"
        for number, kind in enumerate(selection.kinds)
    ]
    having = [] if source.having is None else [f"if not {source.having}: {leave}"]
    known = _known(selection)
    outputs = tuple(known.get(output, output) for output in source.outputs)
    return [*added, *values, f"out = {tuple_source(outputs)}", *having]


def _known(selection: SelectorPlan) -> dict[str, str]:
    """Return what columns of the row are called, of those that the aggregators were given it by."""
    source = selection.source
    names = {argument: f"x{number}" for number, argument in enumerate(source.arguments)}
    if source.group is not None and selection.kinds:
        names[source.group] = "key"
    return {column: name for column, name in names.items() if OF_A_COLUMN.fullmatch(column)}


def _names(number: int) -> dict[str, str]:
    """Return what the Python of an aggregator is filled in with."""
    return {letter: f"{letter}{number}" for letter in "axnt"}


def aggregated_name(number: int) -> str:
    """Return what the Python of outputs calls an aggregator's value."""
    return f"aggregated{number}"


def _passed_on(shape: QueryShape) -> list[str]:
    if shape.writes:
        of_query = ["for listener in query_listeners: listener([(CURRENT, at, out)])"] if shape.is_named else []
        return [
            *of_query,
            "outlet[0](at, out)",
        ]
    group = shape.selection.source.group
    key = [] if shape.selection.kinds else [f"key = {group}"]
    return [*key, "emit([(CURRENT, at, out, key)])"]
