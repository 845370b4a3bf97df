"""From an app's tree to its plan: streams, named windows and queries, all names and types checked."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cep.engine.chunks import Clock, Kind
from cep.engine.query_compiler import WANTED, QueryPlan, query_plan
from cep.engine.scope import Columns, Environment, RowScope, columns_of
from cep.engine.value_functions import RUNTIME_NAMES
from cep.engine.window_plans import MakeWindow, window_plan
from cep.language.app_tree import (
    App,
    ColumnDefinition,
    Definition,
    PartitionBlock,
    StreamDefinition,
    WindowDefinition,
)
from cep.language.expression_tree import Place
from cep.language.language_errors import AppTextError, AppUnsupportedError


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
    queries: list[QueryPlan] = field(default_factory=list)


def compile_app(app: App, clock: Clock) -> AppPlan:
    """`clock`: of the app that will run. Raises AppTextError, AppUnsupportedError."""
    plan, environment = AppPlan(), Environment({**RUNTIME_NAMES, "clock": clock})
    for definition in app.definitions:
        _define(plan, definition, environment)
    for element in app.elements:
        if isinstance(element, PartitionBlock):
            raise AppUnsupportedError(element.at, "partitions are not supported yet")
        _add(plan, query_plan(element, _readable(plan), environment))
    return plan


def _readable(plan: AppPlan) -> dict[str, Columns]:
    return plan.streams | {name: window.columns for name, window in plan.windows.items()}


def _define(plan: AppPlan, definition: Definition, environment: Environment) -> None:
    match definition:
        case StreamDefinition(role="stream", annotations=(), properties=()):
            _check_new(plan, definition.at, definition.name, definition.columns)
            plan.streams[definition.name] = columns_of(definition.columns)
        case WindowDefinition():
            _check_new(plan, definition.at, definition.name, definition.columns)
            columns = columns_of(definition.columns)
            make = window_plan(definition.window, RowScope(columns, frozenset((definition.name,))), environment)
            plan.windows[definition.name] = NamedWindowPlan(columns, make, WANTED[definition.output])
        case _:
            raise AppUnsupportedError(
                definition.at, f"{definition.name}: only streams without annotations and windows are supported yet"
            )


def _check_new(plan: AppPlan, at: Place, name: str, columns: Sequence[ColumnDefinition]) -> None:
    if name in _readable(plan):
        raise AppTextError(at, f"{name!r} is defined before")
    names = [column.name for column in columns]
    for column in columns:
        if names.count(column.name) > 1:
            raise AppTextError(column.at, f"{name!r} has two attributes {column.name!r}")


def _add(plan: AppPlan, query: QueryPlan) -> None:
    if query.name is not None and any(other.name == query.name for other in plan.queries):
        raise AppTextError(query.at, f"there is a query {query.name!r} before")
    if query.target is not None:
        wanted = _readable(plan).get(query.target)
        if wanted is None:
            plan.streams[query.target] = query.columns
        elif [one.type for one in wanted] != [one.type for one in query.columns]:
            expected = ", ".join(f"{one.name} {one.type}" for one in wanted)
            given = ", ".join(f"{one.name} {one.type}" for one in query.columns)
            raise AppTextError(query.at, f"{query.target!r} has the columns {expected}, and this query gives {given}")
    plan.queries.append(query)
