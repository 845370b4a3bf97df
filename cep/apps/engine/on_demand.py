"""On-demand queries: asked once, of what a table or a named window has at that moment; or they write to a table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cep.apps.compiler.aggregation_reads import Finds, aggregation_finds
from cep.apps.compiler.app import AppPlan, environment_of
from cep.apps.compiler.expression_code import placed
from cep.apps.compiler.own_calls import bound
from cep.apps.compiler.query import Selecting
from cep.apps.compiler.stages import row_condition
from cep.apps.compiler.table import table_write
from cep.apps.language.app_tree import OnDemandQuery, Return
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Place
from cep.apps.parts.aggregations import Aggregation
from cep.apps.parts.app_context import AppContext, PartContext
from cep.apps.parts.chunks import CURRENT, Chunk, Event, Row
from cep.apps.parts.scope import Columns, Environment, RowScope, unknown
from cep.apps.parts.selector import Selected, Selector
from cep.apps.parts.windows import EventWindow


def answer(
    query: OnDemandQuery,
    plan: AppPlan,
    windows: Mapping[str, EventWindow],
    aggregations: Mapping[str, Aggregation],
    context: PartContext,
) -> list[Row]:
    """Return the selected rows; none of a query that writes. Raises AppTextError, AppUnsupportedError."""
    with placed(query.at):
        return _answer(bound(query, plan.own), plan, _Kept(windows, aggregations), context)


@dataclass(frozen=True, slots=True)
class _Kept:
    windows: Mapping[str, EventWindow]
    aggregations: Mapping[str, Aggregation]


def _answer(query: OnDemandQuery, plan: AppPlan, kept: _Kept, context: PartContext) -> list[Row]:
    environment = environment_of(plan, context)
    chunk, scope = _read(query, plan, kept, context, environment)
    selection, columns = Selecting(scope, environment).plan(query.at, query.selection, "current")
    selected = list[Selected]()
    Selector(selection, AppContext().part(), selected.extend).receive(chunk)
    rows: Chunk = [(kind, at, row) for kind, at, row, _ in selected]
    if isinstance(query.output, Return):
        return [row for _, _, row in rows]
    name = query.output.target.name
    if name not in plan.tables:
        raise unknown(query.output.at, f"there is no table {name!r}", name, list(plan.tables))
    table_write(query.output, plan.tables[name], columns, environment).receive(rows)
    return []


def _read(
    query: OnDemandQuery,
    plan: AppPlan,
    has: _Kept,
    context: PartContext,
    environment: Environment,
) -> tuple[Chunk, RowScope]:
    """Return the rows that the condition holds for; one without values if nothing is read."""
    if query.source is None:
        return [(CURRENT, context.now, ())], RowScope((), frozenset())
    name = query.source.name
    if name in plan.tables:
        columns: Columns = plan.tables[name].columns
        kept = plan.tables[name].rows()
    elif name in plan.windows:
        columns, kept = plan.windows[name].columns, has.windows[name].rows()
    elif name in plan.aggregations:
        columns, asks = plan.aggregations[name].columns, RowScope((), frozenset())
        durations = plan.aggregations[name].durations
        finds = aggregation_finds(query.at, query.within, query.per, asks, environment, durations)
        kept = _found(query.at, finds, has.aggregations[name], context.now)
    else:
        known = [*plan.tables, *plan.windows, *plan.aggregations]
        raise unknown(query.source.at, f"there is no table, window or aggregation {name!r}", name, known)
    scope = RowScope(columns, frozenset((name,)))
    passes = row_condition(query.on, scope, environment)
    return [(CURRENT, at, row) for _, at, row in kept if passes(row, at)], scope


def _found(at: Place, finds: Finds, aggregation: Aggregation, now: int) -> Iterable[Event]:
    try:
        return finds(aggregation, (), now)
    except ValueError as error:
        raise AppTextError(at, str(error)) from error
