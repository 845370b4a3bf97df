"""From a query's tree to the parts that it is made of: stages, a selection, and where the rows go."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from cep.apps.compiler.aggregation_reads import Buckets
from cep.apps.compiler.expression_code import ExpressionCompiler, function_made, function_of, row_function, tuple_source
from cep.apps.compiler.fused_query import FusedPlan, aggregated_name, fused_plan, query_shape
from cep.apps.compiler.join import JoinPlan, JoinScope, Stored, join_plan
from cep.apps.compiler.pattern import PatternScope, pattern_plan
from cep.apps.compiler.stages import MakeStage, WindowStage, filter_stage, source_columns
from cep.apps.compiler.stream_functions import stream_function
from cep.apps.compiler.table import table_write
from cep.apps.compiler.window_plans import LengthPlan, window_plan
from cep.apps.functions.collecting_aggregators import collected, concatenated, percentile
from cep.apps.functions.json_aggregator import json_group
from cep.apps.language.app_tree import (
    EventKind,
    Filter,
    Handler,
    Input,
    InsertInto,
    JoinInput,
    OutputColumn,
    PatternInput,
    Query,
    Return,
    Selection,
    StreamFunction,
    StreamInput,
    Window,
)
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Attribute, Expression, FunctionCall, Place
from cep.apps.parts.aggregators import AGGREGATORS, AggregatorKind
from cep.apps.parts.chunks import CURRENT, EXPIRED, Kind
from cep.apps.parts.output_rates import MakeRate, RateInput, rate_plan
from cep.apps.parts.patterns import PatternPlan
from cep.apps.parts.scope import Code, Columns, Environment, RowScope, TypedColumn, unknown
from cep.apps.parts.selector import Group, Having, Outputs, SelectionSource, SelectorPlan
from cep.apps.parts.tables import Table, TableWrite

WANTED: Mapping[EventKind, frozenset[Kind]] = {
    "current": frozenset((CURRENT,)),
    "expired": frozenset((EXPIRED,)),
    "all": frozenset((CURRENT, EXPIRED)),
}


MakeKind = Callable[[FunctionCall, Sequence[Code]], AggregatorKind]
QUERY_AGGREGATORS: Mapping[str, MakeKind] = {
    **AGGREGATORS,
    "json:group": json_group,
    "list:collect": collected,
    "str:groupConcat": concatenated,
    "math:percentile": percentile,
}
SelectionScope = RowScope | JoinScope | PatternScope


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """A query's one stream or named window, and what it goes through."""

    source: str
    stages: tuple[MakeStage, ...]


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A compiled query. `target` is None if only listeners get the rows."""

    at: Place
    name: str | None
    input: StreamPlan | JoinPlan | PatternPlan
    selection: SelectorPlan
    rate: MakeRate
    columns: Columns
    target: str | None
    write: TableWrite | None = None
    """Where the target is a table."""
    fused: FusedPlan | None = None
    """The function of one row, if there is a shorter way through all parts but a pattern's."""

    @property
    def label(self) -> str:
        """In a sentence."""
        return f"the query at line {self.at.line}" if self.name is None else f"the query {self.name!r}"


@dataclass(frozen=True, slots=True)
class Readable:
    """What a query may read, by name: streams and named windows, those that are windows, tables, aggregations."""

    streams: Mapping[str, Columns]
    windows: frozenset[str]
    tables: Mapping[str, Table]
    aggregations: Mapping[str, Buckets] = field(default_factory=dict)


def _check_is_stream(read: StreamInput, readable: Readable) -> None:
    name = read.source.mark + read.source.name
    if name not in readable.streams and (name in readable.tables or name in readable.aggregations):
        what = "a table" if name in readable.tables else "an aggregation"
        raise AppTextError(read.at, f"{name!r} is {what}, which no row comes from by itself: join it with a stream")


def query_plan(query: Query, readable: Readable, environment: Environment) -> QueryPlan:
    """Raise AppTextError, AppUnsupportedError."""
    read: StreamPlan | JoinPlan | PatternPlan
    scope: SelectionScope
    match query.input:
        case StreamInput():
            _check_is_stream(query.input, readable)
            read, scope = _stream_plan(query.input, readable.streams, environment)
        case JoinInput():
            stored = Stored(readable.tables, readable.aggregations)
            read, scope = join_plan(query.input, readable.streams, readable.windows, stored, environment)
        case PatternInput():
            read, scope = pattern_plan(query.input, readable.streams, environment)
    is_snapshot = query.rate is not None and query.rate.kind == "snapshot"
    selecting = Selecting(scope, environment, is_snapshot=is_snapshot)
    selection, columns = selecting.plan(query.at, query.selection, query.output.kind)
    given = RateInput(_keeps(query.input), selection.group is not None, selecting.aggregated, len(columns))
    target = None if isinstance(query.output, Return) else query.output.target.mark + query.output.target.name
    write = _write(query, readable, columns, environment)
    plan = QueryPlan(query.at, query_name(query), read, selection, rate_plan(query.rate, given), columns, target, write)
    writes = query.rate is None and write is None and target is not None and target not in readable.windows
    return replace(plan, fused=_fused(plan, environment, writes=writes))


def _fused(plan: QueryPlan, environment: Environment, *, writes: bool) -> FusedPlan | None:
    if isinstance(plan.input, JoinPlan):
        return None
    stages = plan.input.stages if isinstance(plan.input, StreamPlan) else ()
    shape = query_shape(stages, plan.selection, writes=writes, is_named=plan.name is not None)
    return None if shape is None else fused_plan(shape, environment)


def _keeps(read: Input) -> bool:
    """Whether the query has a window."""
    return not isinstance(read, StreamInput) or any(isinstance(one, Window) for one in read.handlers)


def _write(query: Query, readable: Readable, columns: Columns, environment: Environment) -> TableWrite | None:
    output = query.output
    if isinstance(output, Return):
        return None
    if output.target.name in readable.tables:
        return table_write(output, readable.tables[output.target.name], columns, environment)
    if not isinstance(output, InsertInto):
        raise unknown(output.at, f"there is no table {output.target.name!r}", output.target.name, list(readable.tables))
    if output.target.mark == "!":
        raise AppTextError(output.at, "what goes wrong enters a stream of errors by itself: no query writes to it")
    return None


def _stream_plan(
    read: StreamInput, sources: Mapping[str, Columns], environment: Environment
) -> tuple[StreamPlan, RowScope]:
    columns = source_columns(read, sources)
    scope = RowScope(columns, frozenset(name for name in (read.source.name, read.alias) if name is not None))
    stages = []
    for handler in read.handlers:
        stage, scope = _stage(handler, scope, environment)
        stages.append(stage)
    return StreamPlan(read.source.mark + read.source.name, tuple(stages)), scope


def query_name(query: Query) -> str | None:
    """As `@info(name = …)` says."""
    for annotation in query.annotations:
        if annotation.name.lower() in ("info", "query"):
            return next((item.value for item in annotation.items if item.key == "name"), None)
    return None


def _stage(handler: Handler, scope: RowScope, environment: Environment) -> tuple[MakeStage, RowScope]:
    match handler:
        case Filter(condition=condition):
            return filter_stage(condition, scope, environment), scope
        case StreamFunction(call=call):
            return stream_function(call, scope, environment)
        case Window(window=call):
            made = window_plan(call, scope, environment)
            return WindowStage(replace(made, is_asked=False) if isinstance(made, LengthPlan) else made), scope


@dataclass(slots=True)
class Selecting:
    """Compiles one selection; the aggregators are numbered as they are met."""

    scope: SelectionScope
    environment: Environment
    is_snapshot: bool = False
    """Whether what leaves is selected too, and every event by itself: of a rate that keeps rows."""
    aggregators: Mapping[str, MakeKind] = field(default_factory=lambda: QUERY_AGGREGATORS)
    kinds: list[AggregatorKind] = field(default_factory=list)
    aggregated: frozenset[int] = frozenset()
    """Positions of columns with an aggregator."""
    arguments: list[str] = field(default_factory=list)
    _of_arguments: ExpressionCompiler = field(init=False)

    def __post_init__(self) -> None:
        self._of_arguments = ExpressionCompiler(self.scope)

    def plan(self, at: Place, selection: Selection, kind: EventKind) -> tuple[SelectorPlan, Columns]:
        sources, columns = self._outputs(at, selection.columns)
        having = None if selection.having is None else self._having(selection.having, columns)
        order = tuple((self._place(one.attribute, columns, sources), one.is_descending) for one in selection.order_by)
        group = self._group(selection.group_by)
        plan = SelectorPlan(
            outputs=cast(Outputs, self._with_aggregated(tuple_source(sources), "row, at, aggregated")),
            having=None if having is None else cast(Having, self._with_aggregated(having, "out, row, at, aggregated")),
            arguments=row_function(self.arguments, "row, at", self.environment),
            kinds=tuple(self.kinds),
            group=None if group is None else cast(Group, function_of(group, "row, at", self.environment)),
            order=order,
            width=len(columns),
            limit=None if selection.limit is None else _number(selection.limit, "limit"),
            offset=0 if selection.offset is None else _number(selection.offset, "offset"),
            wanted=WANTED["all" if self.is_snapshot else kind],
            is_per_event=self.is_snapshot,
            source=SelectionSource(tuple(sources), tuple(self.arguments), group, having),
        )
        return plan, columns

    def _outputs(self, at: Place, selected: tuple[OutputColumn, ...] | None) -> tuple[list[str], Columns]:
        if selected is None:
            if isinstance(self.scope, PatternScope):
                return self.scope.all_columns(at)
            return [f"row[{position}]" for position in range(len(self.scope.columns))], self.scope.columns
        compiler = ExpressionCompiler(self.scope, self._aggregated, self.environment.in_table)
        sources, columns = list[str](), list[TypedColumn]()
        for one in selected:
            before = len(self.kinds)
            code = compiler.code_of(one.expression)
            if len(self.kinds) > before:
                self.aggregated |= {len(columns)}
            if one.name is None:
                raise AppTextError(one.at, "this value needs a name: write `as` and one after it")
            if any(column.name == one.name for column in columns):
                raise AppTextError(one.at, f"there is a column {one.name!r} before")
            sources.append(code.source)
            columns.append(TypedColumn(one.name, code.type))
        return sources, tuple(columns)

    def _aggregated(self, call: FunctionCall) -> Code | None:
        if call.full_name not in self.aggregators:
            return None
        arguments = [self._of_arguments.code_of(argument) for argument in call.arguments]
        kind = self.aggregators[call.full_name](call, arguments)
        self.kinds.append(kind)
        self.arguments.append(arguments[0].source if arguments else "None")
        return Code(aggregated_name(len(self.kinds) - 1), kind.type)

    def _place(self, attribute: Attribute, columns: Columns, sources: list[str]) -> int:
        """Return the place of an output that is ordered by; one that is not selected comes behind those that are."""
        for position, column in enumerate(columns):
            if column.name == attribute.name and attribute.source is None:
                return position
        try:
            sources.append(self.scope.code_of(attribute).source)
        except AppTextError:
            names = [column.name for column in columns]
            raise unknown(attribute.at, f"there is no attribute {attribute.name!r}", attribute.name, names) from None
        return len(sources) - 1

    def _group(self, attributes: Sequence[Attribute]) -> str | None:
        """Return the code of the group's key: of one attribute its value."""
        sources = [self.scope.code_of(attribute).source for attribute in attributes]
        return (sources[0] if len(sources) == 1 else tuple_source(sources)) if sources else None

    def _with_aggregated(self, source: str, parameters: str) -> Callable[..., object]:
        """Return a function of a source in which the aggregators' values have their names."""
        if not self.kinds:
            return function_of(source, parameters, self.environment)
        names = "".join(f"{aggregated_name(number)}, " for number in range(len(self.kinds)))
        statements = f"def made({parameters}):\n    {names}= aggregated\n    return {source}\n"
        return function_made(statements, "made", self.environment)

    def _having(self, condition: Expression, columns: Columns) -> str:
        scope = RowScope(columns, frozenset(), "out", outer=self.scope)
        return ExpressionCompiler(scope, self._aggregated).condition_of(condition)


def _number(node: Expression, word: str) -> int:
    value = getattr(node, "value", None)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise AppTextError(node.at, f"{word} takes a number of rows, 0 or more")
    return value
