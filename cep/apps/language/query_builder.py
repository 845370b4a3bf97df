"""From the parse tree's nodes to inputs, selections, outputs and queries: one function for each rule of the grammar."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from lark import Token

from cep.apps.language.app_tree import (
    AbsentStep,
    Assignment,
    ChainStep,
    DeleteFrom,
    EventKind,
    EveryStep,
    Filter,
    Handler,
    Input,
    InsertInto,
    JoinInput,
    LogicalStep,
    OnDemandQuery,
    OrderBy,
    Output,
    OutputColumn,
    OutputRate,
    PartitionBlock,
    PatternInput,
    Query,
    RangeKey,
    Return,
    Selection,
    Source,
    Step,
    StreamFunction,
    StreamInput,
    StreamStep,
    UpdateTable,
    ValueKey,
    Window,
)
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_builder import string_text, whole_number
from cep.apps.language.expression_tree import Attribute, Duration, Expression, Mark, Place

SelectedColumns = tuple[OutputColumn, ...] | None
JoinKind = Literal["inner", "left", "right", "full"]


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps before it is known whether they are a pattern, a sequence or a stream alone."""

    at: Place
    kind: Literal["pattern", "sequence"] | None
    steps: tuple["Step | Group", ...]
    within: int | None


@dataclass(frozen=True, slots=True)
class Group:
    at: Place
    chain: Chain
    is_every: bool


@dataclass(frozen=True, slots=True)
class Count:
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    """Which part of an aggregation is read."""

    within: tuple[Expression, ...]
    per: Expression | None


def source(at: Place, mark: Token | None, name: str) -> Source:
    return Source(at, name, cast(Mark, str(mark or "")))


def filter_(at: Place, condition: Expression) -> Filter:
    return Filter(at, condition)


def count_exactly(at: Place, number: Token) -> Count:
    times = whole_number(at, number, "int")
    return Count(times, times)


def count_between(at: Place, least: Token, most: Token | None) -> Count:
    count = Count(whole_number(at, least, "int"), whole_number(at, most, "int") if most else None)
    if count.most is not None and count.most < count.least:
        raise AppTextError(at, f"a count goes from the smaller number to the larger, not from {least} to {most}")
    return count


def count_at_most(at: Place, most: Token) -> Count:
    return Count(0, whole_number(at, most, "int"))


def count_any(_: Place) -> Count:
    return Count(0, None)


def count_some(_: Place) -> Count:
    return Count(1, None)


def count_optional(_: Place) -> Count:
    return Count(0, 1)


def stream_step(at: Place, reference: str | None, source_: Source, *rest: Handler | Count | None) -> StreamStep:
    handlers = tuple(part for part in rest if isinstance(part, Handler))
    count = next((part for part in rest if isinstance(part, Count)), None)
    if count is None:
        return StreamStep(at, source_, handlers, reference)
    return StreamStep(at, source_, handlers, reference, count.least, count.most, is_counted=True)


def absent_step(at: Place, _: Token, source_: Source, *rest: Handler | Duration | None) -> AbsentStep:
    handlers = tuple(part for part in rest if isinstance(part, Handler))
    wait = next((part.milliseconds for part in rest if isinstance(part, Duration)), None)
    return AbsentStep(at, source_, handlers, wait)


def logical_step(
    at: Place, left: StreamStep | AbsentStep, operator: Token, right: StreamStep | AbsentStep
) -> LogicalStep:
    return LogicalStep(at, "and" if operator.type == "AND" else "or", left, right)


def every_step(at: Place, step: Step) -> EveryStep:
    return EveryStep(at, step)


def step_group(at: Place, chain: Chain) -> Group:
    return Group(at, chain, is_every=False)


def every_group(at: Place, chain: Chain) -> Group:
    return Group(at, chain, is_every=True)


def within(_: Place, duration: Duration) -> int:
    return duration.milliseconds


def single_chain(at: Place, step: Step | Group, limit: int | None) -> Chain:
    return Chain(at, None, (step,), limit)


def pattern(at: Place, *parts: Any) -> Chain:
    return Chain(at, "pattern", parts[:-1], parts[-1])


def sequence(at: Place, *parts: Any) -> Chain:
    return Chain(at, "sequence", parts[:-1], parts[-1])


def stream_input(step: Step | Group, alias: str | None = None, is_unidirectional: bool = False) -> StreamInput:
    """Return the stream input of a stream alone: what only a step of a pattern can have is refused."""
    if not isinstance(step, StreamStep) or step.reference is not None or step.is_counted:
        raise AppTextError(step.at, "a stream alone is expected here, not a step of a pattern")
    return StreamInput(step.at, step.source, step.handlers, alias, is_unidirectional)


def aliased(_: Place, step: Step, alias: str) -> StreamInput:
    return stream_input(step, alias)


def alias_name(_: Place, name: str) -> str:
    return name


def outer_join(_: Place, side: Token) -> JoinKind:
    return cast(JoinKind, side.lower())


def full_join(_: Place) -> JoinKind:
    return "full"


def inner_join(_: Place) -> JoinKind:
    return "inner"


def reading(_: Place, first: Expression, second: Expression | None, per: Expression | None) -> Reading:
    return Reading((first,) if second is None else (first, second), per)


def join(at: Place, *parts: Any) -> JoinInput:
    left, left_alias, is_left_alone, kind, right, right_alias, is_right_alone, on, read = parts
    return JoinInput(
        at,
        stream_input(left, left_alias, is_left_alone is not None),
        stream_input(right, right_alias, is_right_alone is not None),
        kind,
        on,
        *((read.within, read.per) if read else ((), None)),
    )


def input_of(part: Chain | JoinInput | StreamInput) -> Input:
    if not isinstance(part, Chain):
        return part
    first = part.steps[0]
    is_stream_alone = part.kind is None and isinstance(first, StreamStep) and part.within is None
    if is_stream_alone and isinstance(first, StreamStep) and first.reference is None and not first.is_counted:
        return stream_input(first)
    kind = part.kind or _inner_kind(first)
    return PatternInput(part.at, kind, _steps(part, kind), part.within)


def _inner_kind(step: Step | Group) -> Literal["pattern", "sequence"]:
    """`every (a, b)` alone is a sequence."""
    if isinstance(step, Group):
        return step.chain.kind or _inner_kind(step.chain.steps[0])
    return "pattern"


def _steps(chain: Chain, kind: Literal["pattern", "sequence"]) -> tuple[Step, ...]:
    return tuple(_step(step, kind) if isinstance(step, Group) else step for step in chain.steps)


def _step(group: Group, kind: Literal["pattern", "sequence"]) -> Step:
    if group.chain.kind not in (None, kind):
        raise AppTextError(group.at, f"a {group.chain.kind} cannot be part of a {kind}: -> and , do not mix")
    inner = ChainStep(group.at, _steps(group.chain, kind), group.chain.within)
    return EveryStep(group.at, inner) if group.is_every else inner


def select_all(_: Place) -> SelectedColumns:
    return None


def select(_: Place, *selected: OutputColumn) -> SelectedColumns:
    return selected


def output_column(at: Place, expression: Expression, name: str | None) -> OutputColumn:
    if name is None and isinstance(expression, Attribute):
        name = expression.name
    return OutputColumn(at, expression, name)


def tail(_: Place, *parts: Any) -> Selection:
    group_by, having, order_by, limit, offset = parts
    return Selection(None, group_by or (), having, order_by or (), limit, offset)


def selection(_: Place, selected: SelectedColumns, rest: Selection) -> Selection:
    return replace(rest, columns=selected)


def attributes(_: Place, *parts: Attribute) -> tuple[Attribute, ...]:
    return parts


def only(_: Place, part: Expression) -> Expression:
    return part


def order_item(_: Place, attribute: Attribute, direction: Token | None) -> OrderBy:
    return OrderBy(attribute, is_descending=direction is not None and direction.type == "DESC")


def order_by(_: Place, *items: OrderBy) -> tuple[OrderBy, ...]:
    return items


def event_count(at: Place, number: Token) -> int:
    events = whole_number(at, number, "int")
    if events == 0:
        raise AppTextError(at, "an output goes by at least one event")
    return events


def rate(at: Place, kind: Token | None, every: Duration | int) -> OutputRate:
    named = cast(Literal["all", "first", "last", "snapshot"], kind.lower() if kind else "all")
    if isinstance(every, Duration):
        return OutputRate(at, named, milliseconds=every.milliseconds)
    if named == "snapshot":
        raise AppTextError(at, "a snapshot goes by time, such as every 5 sec, not by events")
    return OutputRate(at, named, events=every)


def event_kind(_: Place, kind: Token | None) -> EventKind:
    return cast(EventKind, kind.lower() if kind else "current")


def insert_into(at: Place, kind: EventKind | None, target: Source) -> InsertInto:
    return InsertInto(at, target, kind or "current")


def delete_from(at: Place, target: Source, kind: EventKind | None, on: Expression | None) -> DeleteFrom:
    return DeleteFrom(at, target, on, kind or "current")


Assignments = tuple[Assignment, ...]


def update_table(
    at: Place, target: Source, kind: EventKind | None, set_: Assignments | None, on: Expression
) -> UpdateTable:
    return UpdateTable(at, target, on, set_ or (), kind or "current")


def update_or_insert(at: Place, _: Token, *parts: Any) -> UpdateTable:
    return replace(update_table(at, *parts), inserts_missing=True)


def return_rows(at: Place, kind: EventKind | None) -> Return:
    return Return(at, kind or "current")


def assignment(_: Place, target: Attribute, value: Expression) -> Assignment:
    return Assignment(target, value)


def assignments(_: Place, *parts: Assignment) -> Assignments:
    return parts


def siddhi_query(at: Place, read: Any, selected: Selection | None, limit: OutputRate | None, output: Output) -> Query:
    return Query(at, input_of(read), selected or Selection(), output, limit)


def worker_query(at: Place, output: Output, selected: SelectedColumns, read: Any, *rest: Any) -> Query:
    return Query(at, input_of(read), replace(rest[0], columns=selected), output, rest[1])


def worker_query_of_all(at: Place, output: Output, read: Any, rest: Selection, limit: OutputRate | None) -> Query:
    return Query(at, input_of(read), rest, output, limit)


def select_first_query(at: Place, selected: SelectedColumns, read: Any, *rest: Any) -> Query:
    return Query(at, input_of(read), replace(rest[0], columns=selected), rest[2], rest[1])


def inner_query(_: Place, *parts: Any) -> Query:
    *annotations, query = parts
    return replace(cast(Query, query), annotations=tuple(annotations))


def value_key(at: Place, key: Expression, stream: str) -> ValueKey:
    return ValueKey(at, stream, key)


def range_(_: Place, condition: Expression, name: Token) -> tuple[Expression, str]:
    return condition, string_text(name)


def range_key(at: Place, *parts: Any) -> RangeKey:
    return RangeKey(at, parts[-1], tuple(part for part in parts[:-1] if not isinstance(part, Token)))


def partition(at: Place, *parts: Any) -> PartitionBlock:
    keys = tuple(part for part in parts if isinstance(part, ValueKey | RangeKey))
    return PartitionBlock(at, keys, tuple(part for part in parts if isinstance(part, Query)))


def stored(_: Place, source_: Source, on: Expression | None, read: Reading | None) -> Any:
    return source_, on, read or Reading((), None)


def _read_rows(at: Place, read: Any, selected: Selection, output: Output | None) -> OnDemandQuery:
    source_, on, part = read
    return OnDemandQuery(at, source_, on, selected, output or Return(at), part.within, part.per)


def on_demand_from(at: Place, read: Any, selected: Selection | None, output: Output | None) -> OnDemandQuery:
    return _read_rows(at, read, selected or Selection(), output)


def on_demand_select(at: Place, selected: SelectedColumns, read: Any, rest: Selection) -> OnDemandQuery:
    return _read_rows(at, read, replace(rest, columns=selected), None)


def on_demand_write(at: Place, selected: SelectedColumns, output: Output) -> OnDemandQuery:
    return OnDemandQuery(at, None, None, Selection(selected), output)


def on_demand_write_first(at: Place, output: Output, selected: SelectedColumns) -> OnDemandQuery:
    return on_demand_write(at, selected, output)


def on_demand_output(at: Place, output: Output) -> OnDemandQuery:
    return on_demand_write(at, None, output)


_AS_THE_RULE_IS_CALLED: list[Callable[..., Any]] = [
    source, count_exactly, count_between, count_at_most, count_any, count_some, count_optional, stream_step,
    absent_step, logical_step, every_step, step_group, every_group, within, single_chain, pattern, sequence, aliased,
    outer_join, full_join, inner_join, reading, join, select_all, select, output_column, tail, selection, order_item,
    order_by, event_count, rate, event_kind, insert_into, delete_from, update_table, update_or_insert, return_rows,
    assignment, assignments, siddhi_query, worker_query, worker_query_of_all, select_first_query, inner_query,
    value_key, range_key, partition, stored, on_demand_from, on_demand_select, on_demand_write, on_demand_write_first,
    on_demand_output,
]  # fmt: skip
QUERY_BUILDERS: dict[str, Callable[..., Any]] = {builder.__name__: builder for builder in _AS_THE_RULE_IS_CALLED} | {
    "filter": filter_,
    "stream_function": StreamFunction,
    "window": Window,
    "alias": alias_name,
    "group_by": attributes,
    "having": only,
    "limit": only,
    "offset": only,
    "range": range_,
}
