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
from cep.apps.parts.tables import Table
from cep.apps.parts.windows import EventWindow


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of an on-demand query, with the names and types of their columns; none of a query that writes."""

    columns: Columns
    rows: list[Row]


class AppData:
    """What a running app keeps and others may ask for: tables, named windows and aggregations."""

    def __init__(
        self,
        plan: AppPlan,
        windows: Mapping[str, EventWindow],
        aggregations: Mapping[str, Aggregation],
        context: PartContext,
    ) -> None:
        self._plan, self._windows, self._aggregations, self._context = plan, windows, aggregations, context

    def table(self, name: str) -> Table:
        """Raise KeyError if the app has no such table."""
        return self._plan.tables[name]

    def aggregation(self, name: str) -> Aggregation:
        """Raise KeyError if the app has no such aggregation."""
        return self._aggregations[name]

    def ask(self, query: OnDemandQuery) -> Answer:
        """Answer `query`, or do what it does to a table. Raises AppTextError, AppUnsupportedError, and one of FAULTS
        if a row cannot be computed."""
        with placed(query.at):
            return self._answer(bound(query, self._plan.own))

    def _answer(self, query: OnDemandQuery) -> Answer:
        plan, environment = self._plan, environment_of(self._plan, self._context)
        chunk, scope = self._read(query, environment)
        selection, columns = Selecting(scope, environment).plan(query.at, query.selection, "current")
        selected = list[Selected]()
        Selector(selection, AppContext().part(), selected.extend).receive(chunk)
        rows: Chunk = [(kind, at, row) for kind, at, row, _ in selected]
        if isinstance(query.output, Return):
            return Answer(columns, [row for _, _, row in rows])
        name = query.output.target.name
        if name not in plan.tables:
            raise unknown(query.output.at, f"there is no table {name!r}", name, list(plan.tables))
        table_write(query.output, plan.tables[name], columns, environment).receive(rows)
        return Answer((), [])

    def _read(self, query: OnDemandQuery, environment: Environment) -> tuple[Chunk, RowScope]:
        """Return the rows that the condition holds for; one without values if nothing is read."""
        plan, now = self._plan, self._context.now
        if query.source is None:
            return [(CURRENT, now, ())], RowScope((), frozenset())
        name = query.source.name
        if name in plan.tables:
            columns: Columns = plan.tables[name].columns
            kept = plan.tables[name].rows()
        elif name in plan.windows:
            columns, kept = plan.windows[name].columns, self._windows[name].rows()
        elif name in plan.aggregations:
            columns, asks = plan.aggregations[name].columns, RowScope((), frozenset())
            terms = plan.aggregations[name].terms
            finds = aggregation_finds(query.at, query.within, query.per, asks, environment, terms)
            kept = _found(query.at, finds, self._aggregations[name], now)
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
