"""From an app's tree to its plan: streams, named windows and queries, all names and types checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cep.compiler.expression_code import placed
from cep.compiler.partitions import PartitionPlan, partition_key
from cep.compiler.query_compiler import WANTED, QueryPlan, Readable, query_plan
from cep.compiler.table_compiler import in_table_code, table_of
from cep.compiler.value_functions import RUNTIME_NAMES
from cep.compiler.window_plans import MakeWindow, window_plan
from cep.language.app_tree import (
    App,
    ColumnDefinition,
    Definition,
    PartitionBlock,
    Query,
    StreamDefinition,
    TableDefinition,
    WindowDefinition,
)
from cep.language.expression_tree import Place
from cep.language.language_errors import AppTextError, AppUnsupportedError
from cep.parts.app_context import PartContext
from cep.parts.chunks import Kind
from cep.parts.scope import Columns, Environment, RowScope, check_fits, columns_of
from cep.parts.tables import Table


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
    elements: list[QueryPlan | PartitionPlan] = field(default_factory=list)

    @property
    def queries(self) -> list[QueryPlan]:
        """All of them, those of partitions too."""
        grouped = (one.queries if isinstance(one, PartitionPlan) else (one,) for one in self.elements)
        return [query for queries in grouped for query in queries]


def compile_app(app: App, context: PartContext) -> AppPlan:
    """`context`: of the app that will run. Raises AppTextError, AppUnsupportedError."""
    plan = AppPlan()
    environment = environment_of(plan, context)
    for part in (*app.definitions, *app.elements):
        with placed(part.at):
            _add(plan, part, environment)
    _check_names(plan)
    return plan


def environment_of(plan: AppPlan, context: PartContext) -> Environment:
    """What generated Python of this app may use."""
    names: dict[str, object] = {**RUNTIME_NAMES, "app": context}
    return Environment(names, in_table_code(plan.tables, names))


def _add(plan: AppPlan, part: Definition | Query | PartitionBlock, environment: Environment) -> None:
    match part:
        case PartitionBlock():
            plan.elements.append(_partition(plan, part, environment))
        case Query():
            query = query_plan(part, _readable_with(plan, {}), environment)
            _add_stream(plan, query, plan.streams)
            plan.elements.append(query)
        case _:
            _define(plan, part, environment)


def _partition(plan: AppPlan, block: PartitionBlock, environment: Environment) -> PartitionPlan:
    if block.annotations:
        raise AppUnsupportedError(block.at, "annotations of a partition are not supported yet")
    keys = dict(partition_key(key, _readable(plan), environment) for key in block.keys)
    inner: dict[str, Columns] = {}
    queries = []
    for element in block.queries:
        query = query_plan(element, _readable_with(plan, inner), environment)
        _add_stream(plan, query, inner if query.target is not None and query.target.startswith("#") else plan.streams)
        queries.append(query)
    return PartitionPlan(keys, tuple(queries), tuple(inner))


def _check_names(plan: AppPlan) -> None:
    names = [query.name for query in plan.queries]
    for query in plan.queries:
        if query.name is not None and names.count(query.name) > 1:
            raise AppTextError(query.at, f"there are two queries {query.name!r}")


def _readable(plan: AppPlan) -> dict[str, Columns]:
    return plan.streams | {name: window.columns for name, window in plan.windows.items()}


def _readable_with(plan: AppPlan, inner: Mapping[str, Columns]) -> Readable:
    return Readable({**_readable(plan), **inner}, frozenset(plan.windows), plan.tables)


def _define(plan: AppPlan, definition: Definition, environment: Environment) -> None:
    match definition:
        case StreamDefinition(role="stream", annotations=(), properties=()):
            _check_new(plan, definition.at, definition.name, definition.columns)
            plan.streams[definition.name] = columns_of(definition.columns)
        case TableDefinition():
            _check_new(plan, definition.at, definition.name, definition.columns)
            plan.tables[definition.name] = table_of(definition)
        case WindowDefinition():
            _check_new(plan, definition.at, definition.name, definition.columns)
            columns = columns_of(definition.columns)
            make = window_plan(definition.window, RowScope(columns, frozenset((definition.name,))), environment)
            plan.windows[definition.name] = NamedWindowPlan(columns, make, WANTED[definition.output])
        case _:
            raise AppUnsupportedError(
                definition.at,
                f"{definition.name}: only streams without annotations, windows and tables are supported yet",
            )


def _check_new(plan: AppPlan, at: Place, name: str, columns: Sequence[ColumnDefinition]) -> None:
    if name in _readable(plan) or name in plan.tables:
        raise AppTextError(at, f"{name!r} is defined before")
    names = [column.name for column in columns]
    for column in columns:
        if names.count(column.name) > 1:
            raise AppTextError(column.at, f"{name!r} has two attributes {column.name!r}")


def _add_stream(plan: AppPlan, query: QueryPlan, streams: dict[str, Columns]) -> None:
    """The stream that the query writes to, where nothing else has it yet."""
    if query.target is None or query.write is not None:
        return
    wanted = (_readable(plan) | streams).get(query.target)
    if wanted is None:
        streams[query.target] = query.columns
    else:
        check_fits(query.at, query.target, wanted, query.columns)
