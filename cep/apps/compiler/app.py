"""From an app's tree to its plan: streams, named windows and queries, all names and types checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from cep.apps.compiler.aggregation import AggregationPlan, aggregation_plan
from cep.apps.compiler.aggregation_reads import Buckets
from cep.apps.compiler.expression_code import placed
from cep.apps.compiler.limit_annotation import app_limits
from cep.apps.compiler.own_calls import bound, define_functions
from cep.apps.compiler.partitions import PartitionPlan, partition_key, purge_plan
from cep.apps.compiler.query import WANTED, QueryPlan, Readable, query_plan
from cep.apps.compiler.table import in_table_code, table_of
from cep.apps.compiler.value_functions import RUNTIME_NAMES
from cep.apps.compiler.window_arguments import MakeWindow
from cep.apps.compiler.window_plans import check_cron, window_plan
from cep.apps.functions.key_processors import ProcessorPlan
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.functions.own_functions import OwnFunctions
from cep.apps.functions.processor_plans import processor_plan
from cep.apps.language.app_ends import KINDS, STORE_ERRORS, AppEnd, app_ends, error_action, has_sink, keeps_errors
from cep.apps.language.app_tree import (
    AggregationDefinition,
    App,
    ColumnDefinition,
    Definition,
    FunctionDefinition,
    PartitionBlock,
    ProcessorDefinition,
    Query,
    StreamDefinition,
    TableDefinition,
    TriggerDefinition,
    WindowDefinition,
)
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import Place
from cep.apps.parts.app_context import PartContext
from cep.apps.parts.app_limits import AppLimits
from cep.apps.parts.calendar import CronTimes
from cep.apps.parts.chunks import Kind, Receiver
from cep.apps.parts.scope import Columns, Environment, RowScope, TypedColumn, check_fits, columns_of
from cep.apps.parts.tables import Table
from cep.apps.parts.triggers import CronTrigger, PeriodicTrigger, StartTrigger, Trigger

ERROR = "_error"
"""The column of a stream of errors that says why."""
ACTIONS = "there are log, stream and store, and wait if the stream has a sink"
TRIGGER_COLUMNS = (TypedColumn("triggered_time", "long"),)
MakeTrigger = Callable[[PartContext, Receiver], Trigger]


WITHOUT_MEANING = ("async", "config", "info")
"""Annotations of a stream that are read, as in Siddhi, and mean nothing: how rows are handed on, and its name."""


AppPart = Definition | Query | PartitionBlock | ProcessorDefinition


@dataclass(frozen=True, slots=True)
class NamedWindowPlan:
    columns: Columns
    make: MakeWindow
    wanted: frozenset[Kind]


@dataclass(slots=True)
class AppPlan:
    """A compiled app. Streams that no text defines have the columns of the first query that writes to them."""

    streams: dict[str, Columns] = field(default_factory=dict)
    windows: dict[str, NamedWindowPlan] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    faults: dict[str, bool] = field(default_factory=dict)
    """Streams whose readers may fail: whether the rows enter a stream of errors, or are left out."""
    aggregations: dict[str, AggregationPlan] = field(default_factory=dict)
    triggers: dict[str, MakeTrigger] = field(default_factory=dict)
    elements: list[QueryPlan | PartitionPlan] = field(default_factory=list)
    processors: dict[str, ProcessorPlan] = field(default_factory=dict)
    limits: AppLimits = field(default_factory=AppLimits)
    own: OwnFunctions = field(default_factory=lambda: OwnFunctions(OperatorTerms()))
    ends: tuple[AppEnd, ...] = ()

    @property
    def of_aggregations(self) -> dict[str, Columns]:
        """The columns of each."""
        return {name: one.columns for name, one in self.aggregations.items()}

    @property
    def queries(self) -> list[QueryPlan]:
        """All of them, those of partitions too."""
        grouped = (one.queries if isinstance(one, PartitionPlan) else (one,) for one in self.elements)
        return [query for queries in grouped for query in queries]


def compile_app(app: App, context: PartContext, terms: OperatorTerms) -> AppPlan:
    """`context`: of the app that will run. Raises AppTextError, AppUnsupportedError."""
    plan = AppPlan(limits=app_limits(app, terms.limits), own=OwnFunctions(terms), ends=tuple(app_ends(app)))
    define_functions(app, plan.own)
    app = bound(app, plan.own)
    environment = environment_of(plan, context)
    for part in parts_of(app):
        compile_part(plan, part, environment)
    check_names(plan)
    return plan


def parts_of(app: App) -> tuple[AppPart, ...]:
    """Return what is compiled, in that order."""
    return *app.definitions, *app.elements, *app.processors


def compile_part(plan: AppPlan, part: AppPart, environment: Environment) -> None:
    """Add one part of the text to the plan of those before it. Raises AppTextError, AppUnsupportedError; the plan may
    then have some of it."""
    with placed(part.at):
        _add(plan, part, environment)


def environment_of(plan: AppPlan, context: PartContext) -> Environment:
    """Return what generated Python of this app may use."""
    names: dict[str, object] = {**RUNTIME_NAMES, **plan.own.runtime, "app": context}
    return Environment(names, in_table_code(plan.tables, names))


def _add(plan: AppPlan, part: AppPart, environment: Environment) -> None:
    match part:
        case ProcessorDefinition():
            written = {name: one for name, one in plan.streams.items() if name not in plan.triggers}
            plan.processors[part.name] = processor_plan(part, plan.streams, written, plan.own)
        case PartitionBlock():
            plan.elements.append(_partition(plan, part, environment))
        case Query():
            query = query_plan(part, _readable_with(plan, {}), environment)
            _add_stream(plan, query, plan.streams)
            plan.elements.append(query)
        case _:
            _define(plan, part, environment)


def _partition(plan: AppPlan, block: PartitionBlock, environment: Environment) -> PartitionPlan:
    purge = purge_plan(block.annotations)
    keys = dict(partition_key(key, _readable(plan), environment) for key in block.keys)
    inner: dict[str, Columns] = {}
    queries = []
    for element in block.queries:
        query = query_plan(element, _readable_with(plan, inner), environment)
        _add_stream(plan, query, inner if query.target is not None and query.target.startswith("#") else plan.streams)
        queries.append(query)
    return PartitionPlan(keys, tuple(queries), tuple(inner), block.at.line, purge)


def check_names(plan: AppPlan) -> None:
    """Raise AppTextError if two queries have one name."""
    names = [query.name for query in plan.queries]
    for query in plan.queries:
        if query.name is not None and names.count(query.name) > 1:
            raise AppTextError(query.at, f"there are two queries {query.name!r}")


def _readable(plan: AppPlan) -> dict[str, Columns]:
    return plan.streams | {name: window.columns for name, window in plan.windows.items()}


def _readable_with(plan: AppPlan, inner: Mapping[str, Columns]) -> Readable:
    buckets = {name: Buckets(one.columns, one.terms) for name, one in plan.aggregations.items()}
    return Readable({**_readable(plan), **inner}, frozenset(plan.windows), plan.tables, buckets)


def _define(plan: AppPlan, definition: Definition, environment: Environment) -> None:
    match definition:
        case StreamDefinition():
            _check_new(plan, definition.at, definition.name, definition.columns)
            plan.streams[definition.name] = columns_of(definition.columns)
            _add_fault_action(plan, definition)
        case TriggerDefinition():
            _check_new(plan, definition.at, definition.name, ())
            plan.streams[definition.name] = TRIGGER_COLUMNS
            plan.triggers[definition.name] = _trigger(definition)
        case AggregationDefinition():
            _check_new(plan, definition.at, definition.name, ())
            plan.aggregations[definition.name] = aggregation_plan(definition, _readable(plan), environment)
        case TableDefinition():
            _check_new(plan, definition.at, definition.name, definition.columns)
            plan.tables[definition.name] = table_of(definition)
        case WindowDefinition():
            _check_new(plan, definition.at, definition.name, definition.columns)
            columns = columns_of(definition.columns)
            make = window_plan(definition.window, RowScope(columns, frozenset((definition.name,))), environment)
            plan.windows[definition.name] = NamedWindowPlan(columns, make, WANTED[definition.output])
        case FunctionDefinition():
            pass  # before all others, since any may call it


def _add_fault_action(plan: AppPlan, definition: StreamDefinition) -> None:
    _check_annotations(definition)
    said = error_action(definition)
    if keeps_errors(definition) or (said is not None and said[1] == "stream"):
        plan.streams[f"!{definition.name}"] = (*plan.streams[definition.name], TypedColumn(ERROR, "string"))
    if said is None:
        return
    at, action = said
    if action not in ("log", "stream", "wait", STORE_ERRORS) or (action == "wait" and not has_sink(definition)):
        raise AppUnsupportedError(at, f"@OnError(action = {action!r}) is not supported: {_why_no_action(action)}")
    if action == "wait":
        # its sink's: a row that cannot be computed now never can
        return
    plan.faults[definition.name] = action in ("stream", STORE_ERRORS)


def _check_annotations(definition: StreamDefinition) -> None:
    """Raise AppUnsupportedError for one that nothing reads."""
    for annotation in definition.annotations:
        if annotation.name.lower() in (*KINDS, *WITHOUT_MEANING):
            # a host's, and to the app a stream like any other; rows have one order, however they are handed on
            continue
        if annotation.name.lower() != "onerror":
            problem = f"{definition.name}: @{annotation.name} of a stream is not supported yet"
            raise AppUnsupportedError(annotation.at, problem)


def _why_no_action(action: str) -> str:
    if action == "wait":
        return "the stream has no sink that could wait, and a row that cannot be computed now never can; " + ACTIONS
    return ACTIONS


def _trigger(definition: TriggerDefinition) -> MakeTrigger:
    every, expression = definition.every, definition.expression
    if every is not None:
        if every <= 0:
            raise AppTextError(definition.at, "a trigger comes every some time above 0")
        return lambda context, emit: PeriodicTrigger(context, emit, every)
    text = expression or ""
    if text.lower() == "start":
        return StartTrigger
    check_cron(text, definition.at)
    return lambda context, emit: CronTrigger(context, emit, CronTimes(text))


def _check_new(plan: AppPlan, at: Place, name: str, columns: Sequence[ColumnDefinition]) -> None:
    if name in _readable(plan) or name in plan.tables or name in plan.aggregations:
        raise AppTextError(at, f"{name!r} is defined before")
    names = [column.name for column in columns]
    for column in columns:
        if names.count(column.name) > 1:
            raise AppTextError(column.at, f"{name!r} has two attributes {column.name!r}")


def _add_stream(plan: AppPlan, query: QueryPlan, streams: dict[str, Columns]) -> None:
    """Add the stream that the query writes to, if nothing else has it yet."""
    if query.target is None or query.write is not None:
        return
    wanted = (_readable(plan) | streams).get(query.target)
    if wanted is None:
        streams[query.target] = query.columns
    else:
        check_fits(query.at, query.target, wanted, query.columns)
