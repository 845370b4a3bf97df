"""On-demand queries: asked once, of what a table or a named window has at that moment; or they write to a table."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from uuid import uuid4

from cep.apps.compiler.aggregation_reads import Finds, aggregation_finds
from cep.apps.compiler.app import AppPlan, environment_of
from cep.apps.compiler.expression_code import placed
from cep.apps.compiler.own_calls import bound
from cep.apps.compiler.query import Selecting
from cep.apps.compiler.stages import RowPasses, row_condition
from cep.apps.compiler.table import table_write
from cep.apps.engine.question_meter import NO_LIMITS, QuestionMeter, QuestionRefusedError
from cep.apps.language.app_tree import DeleteFrom, InsertInto, OnDemandQuery, Return, UpdateTable
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Place
from cep.apps.parts.aggregations import Aggregation
from cep.apps.parts.app_context import AppContext, PartContext
from cep.apps.parts.chunks import CURRENT, Chunk, Event, Row
from cep.apps.parts.scope import Columns, Environment, RowScope, unknown
from cep.apps.parts.selector import Selected, Selector
from cep.apps.parts.tables import Table, TableWrite
from cep.apps.parts.windows import EventWindow


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of an on-demand query, with the names and types of their columns; none of a query that writes."""

    columns: Columns
    rows: list[Row]


class _AskedContext(PartContext):
    """The app as a query from outside sees it: ids that it makes are of no log, and the app's go on as they were."""

    def next_id(self) -> str:
        return str(uuid4())


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

    def ask(self, query: OnDemandQuery, meter: QuestionMeter | None = None) -> Answer:
        """Answer `query`, or do what it does to a table: all of it or, if anything is raised, nothing.

        Without `meter` it may take what it likes. Raises AppTextError, AppUnsupportedError; QuestionRefusedError if it
        takes more than `meter` allows; and one of FAULTS if a row cannot be computed."""
        with placed(query.at):
            return self._answer(bound(query, self._plan.own), meter or QuestionMeter(NO_LIMITS, lambda: 0.0))

    def _answer(self, query: OnDemandQuery, meter: QuestionMeter) -> Answer:
        environment = environment_of(self._plan, _AskedContext(self._context.app, self._context.rank))
        chunk, scope = self._read(query, environment, meter)
        selection, columns = Selecting(scope, environment).plan(query.at, query.selection, "current")
        selected = list[Selected]()
        Selector(meter.counted(selection), AppContext().part(), selected.extend).receive(chunk)
        if isinstance(query.output, Return):
            answer = Answer(columns, [row for _, _, row, _ in selected])
            meter.check_answer(answer.rows)
            return answer
        self._write(query.output, [(kind, at, row) for kind, at, row, _ in selected], columns, environment, meter)
        return Answer((), [])

    def _write(
        self,
        output: InsertInto | UpdateTable | DeleteFrom,
        rows: Chunk,
        columns: Columns,
        environment: Environment,
        meter: QuestionMeter,
    ) -> None:
        name, most = output.target.name, self._plan.limits.table_rows
        if name not in self._plan.tables:
            raise unknown(output.at, f"there is no table {name!r}", name, list(self._plan.tables))
        table = self._plan.tables[name]
        write = _counted(table_write(output, table, columns, environment), meter)
        before = table.row_count
        with table.whole(meter.close):
            write.receive(rows)
            if table.row_count > max(most, before):
                problem = f"the table {name!r} would keep {table.row_count:,} rows"
                raise QuestionRefusedError(f"{problem}, and {most:,} are allowed (table.rows)")

    def _read(self, query: OnDemandQuery, environment: Environment, meter: QuestionMeter) -> tuple[Chunk, RowScope]:
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
        return list(_passing(kept, passes, meter)), scope


def _passing(kept: Iterable[Event], passes: RowPasses, meter: QuestionMeter) -> Iterator[Event]:
    for _, at, row in kept:
        meter.step()
        if passes(row, at):
            yield CURRENT, at, row


def _counted(write: TableWrite, meter: QuestionMeter) -> TableWrite:
    """Return the write, whose conditions and changed rows are counted."""
    meets, changed = write.meets, write.changed

    def counted_meets(row: Row, at: int, kept: Row) -> bool:
        meter.step()
        return meets(row, at, kept)

    def counted_changed(row: Row, at: int, kept: Row) -> Row:
        found = kept if changed is None else changed(row, at, kept)
        meter.made(found)
        return found

    return replace(write, meets=counted_meets, changed=None if changed is None else counted_changed)


def _found(at: Place, finds: Finds, aggregation: Aggregation, now: int) -> Iterable[Event]:
    try:
        return finds(aggregation, (), now)
    except ValueError as error:
        raise AppTextError(at, str(error)) from error
