"""A running app: rows of its log come in, rows of its streams go out. No input or output, no threads; the clock is the
log's, so the same log always gives the same rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from cep.apps.compiler.aggregation import AggregationPlan
from cep.apps.compiler.app import AppPlan, NamedWindowPlan, compile_app
from cep.apps.compiler.join import JoinPlan, SidePlan
from cep.apps.compiler.partitions import PartitionPlan
from cep.apps.compiler.query import QueryPlan, StreamPlan
from cep.apps.compiler.stages import MakeStage, WindowStage
from cep.apps.engine.junctions import Junction, Junctions, RowListener, drop_faults, faults_to
from cep.apps.engine.kept_amounts import check_amounts
from cep.apps.engine.on_demand import answer
from cep.apps.engine.partition_instances import PartitionInstances
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_ends import app_ends
from cep.apps.language.app_tree import App, OnDemandQuery
from cep.apps.parts.aggregations import Aggregation
from cep.apps.parts.app_context import AppContext
from cep.apps.parts.app_limits import AppLimits
from cep.apps.parts.chunks import Chunk, Receiver, Row, RowTaker, as_current, one_or_more
from cep.apps.parts.joins import Join, JoinSide
from cep.apps.parts.patterns import Pattern, PatternPlan
from cep.apps.parts.scope import Columns, described
from cep.apps.parts.selector import Selector
from cep.apps.parts.tables import Table
from cep.apps.parts.values import as_float
from cep.apps.parts.windows import EventWindow


class StreamEngine:
    """One app. Raises AppTextError, AppUnsupportedError if it cannot run as it is written."""

    def __init__(
        self,
        app: App,
        now: int = 0,
        variables: Mapping[str, str] | None = None,
        terms: OperatorTerms | None = None,
        *,
        is_fused: bool = True,
    ) -> None:
        """`now`: where its clock begins, milliseconds. `variables`: what `context:getVar` gives. `terms`: what it may
        use and take; without them no folder, and limits as they are by default. `is_fused`: whether rows that come
        alone take the shorter way through the queries that have one; the rows are the same."""
        self._is_fused = is_fused
        self._context, self._ends = AppContext(now, variables), tuple(app_ends(app))
        self._own = self._context.part()
        self._plan: AppPlan = compile_app(app, self._own, terms or OperatorTerms())
        for name, table in self._plan.tables.items():
            self._context.owner = f"the table {name!r}"
            self._context.part().keep(table)
        self._junctions = {name: Junction() for name in (*self._plan.streams, *self._plan.windows)}
        for name, make in self._plan.triggers.items():
            make(self._context.part(), self._junctions[name].send)
        self._windows: dict[str, EventWindow] = {
            name: self._named_window(name, plan) for name, plan in self._plan.windows.items()
        }
        self._floats = _float_places(self._plan.streams)
        self._senders = {name: self._sender(name) for name in self._junctions}
        self._query_listeners: dict[str, list[Receiver]] = {}
        self._partitions: list[PartitionInstances] = []
        for name, has_stream in self._plan.faults.items():
            self._junctions[name].on_fault = faults_to(self._junctions[f"!{name}"]) if has_stream else drop_faults
        self._aggregations = {name: self._aggregation(name, plan) for name, plan in self._plan.aggregations.items()}
        for element in self._plan.elements:
            if isinstance(element, PartitionPlan):
                instances = PartitionInstances(element, self._context, self._junctions, self._build, is_fused=is_fused)
                self._partitions.append(instances)
            else:
                self._build(element, self._junctions)

    @property
    def now(self) -> int:
        return self._context.now

    def columns_of(self, stream: str) -> Columns:
        """Raise KeyError if the app has no such stream."""
        return self._plan.streams[stream]

    def explained(self) -> Iterable[str]:
        """Return what the app is made of, a line for each part."""
        for name, columns in self._plan.streams.items():
            yield f"stream {name} ({described(columns)})"
        for name, window in self._plan.windows.items():
            yield f"window {name} ({described(window.columns)})"
        for name, table in self._plan.tables.items():
            yield f"table {name} ({described(table.columns)})"
        for name, columns in self._plan.of_aggregations.items():
            yield f"aggregation {name} ({described(columns)})"
        for own in self._plan.own.defined.values():
            yield f"function {own.name} -> {own.returns}"
        for end in self._ends:
            yield str(end)
        for query in self._plan.queries:
            target = "listeners" if query.target is None else query.target
            yield f"query {query.name or f'at line {query.at.line}'} -> {target}"

    def generated(self) -> Iterable[tuple[str, str]]:
        """Return the Python of what one row does in each query that has it in one function: where the query is, and the
        text."""
        for query in self._plan.queries:
            if query.fused is not None:
                yield f"query at line {query.at.line}", query.fused.source

    def listen(self, stream: str, listener: RowListener) -> None:
        """Call `listener` with every row that enters `stream`. Raises KeyError if the app has no such stream."""
        self._junctions[stream].listen(listener)

    def table(self, name: str) -> Table:
        """Raise KeyError if the app has no such table."""
        return self._plan.tables[name]

    def listen_to_query(self, name: str, listener: Receiver) -> None:
        """Call `listener` with every chunk of the query `name`."""
        self._query_listeners.setdefault(name, []).append(listener)

    def send(self, stream: str, at: int, row: Row) -> None:
        """Take a row of the log, with its time in milliseconds. Raises KeyError if the app has no such stream."""
        self._senders[stream](at, row)

    def sender(self, stream: str) -> RowTaker:
        """Return what `send` does with the rows of one stream, for who has many. Raises KeyError if the app has no such
        stream."""
        return self._senders[stream]

    def _sender(self, stream: str) -> RowTaker:
        context, junction = self._context, self._junctions[stream]
        takers, waits, has_floats = junction.takers, context.waits, stream in self._floats

        def send(at: int, row: Row) -> None:
            # as `advance` does, without its calls
            if at > context.now:  # noqa: PLR1730
                context.now = at
            if waits and waits[0][0] <= context.now:
                context.advance(at)
            if has_floats:
                row = self._rounded(stream, row)
            for taker in takers:
                taker(at, row)

        return send

    def _rounded(self, stream: str, row: Row) -> Row:
        """With floats of 32 bits, as every part of the app computes them."""
        floats = self._floats[stream]
        return tuple(as_float(one) if place in floats and one is not None else one for place, one in enumerate(row))

    def advance(self, at: int) -> None:
        """Move the log's clock if no row comes."""
        self._context.advance(at)

    def due(self) -> int | None:
        """Return the time of the log at which something happens though no row comes; None if nothing waits."""
        return self._context.due()

    def state(self) -> object:
        """All that the app has kept; it is valid until the next row."""
        instances = [
            (instance.ranks.start, number, key, instance.used_at)
            for number, partition in enumerate(self._partitions)
            for key, instance in partition.by_key.items()
        ]
        return sorted(instances), self._context.state()

    def restore(self, state: Any) -> None:
        """Go on as the engine of the same app that the state is of. To be called once, before any row."""
        instances, of_parts = state
        for first, number, key, used_at in instances:
            # parts have the numbers that they had
            self._context.ranks = first - 1
            self._partitions[number].instance(key).used_at = used_at
        self._context.restore(of_parts)

    def keep_keys(self, kept: Callable[[int, str], object | None]) -> None:
        """Each key of a partition begins with what `kept` gives of it, by the partition's place in the text and the
        key: None if it is new. For an app whose state is all by key; to be called before any row."""
        for number, partition in enumerate(self._partitions):
            partition.kept = partial(kept, number)

    def key_states(self) -> Iterator[tuple[int, str, object]]:
        """Return what all keys at hand have kept: the place of the partition, the key, and what it has kept."""
        for number, partition in enumerate(self._partitions):
            for key, instance in partition.by_key.items():
                yield number, key, self._context.state_of(instance.ranks)

    @property
    def limits(self) -> AppLimits:
        """As the app's text and the operator's terms have them."""
        return self._plan.limits

    def check_limits(self) -> None:
        """Raise AppLimitError if a query, a table or a partition keeps more than it may. Takes time in proportion
        to the number of parts: to be called now and then."""
        keys = ((partition.name, len(partition.by_key)) for partition in self._partitions)
        check_amounts(self._context.kept(), keys, self._plan.limits)

    def ask(self, query: OnDemandQuery) -> list[Row]:
        """Return the rows of an on-demand query. Raises AppTextError, AppUnsupportedError."""
        return answer(query, self._plan, self._windows, self._aggregations, self._own)

    def _named_window(self, name: str, plan: NamedWindowPlan) -> EventWindow:
        junction = self._junctions[name]
        self._context.owner = f"the window {name!r}"

        def emit(chunk: Chunk) -> None:
            wanted = [event for event in chunk if event[0] in plan.wanted]
            if wanted:
                junction.send(wanted)

        return plan.make(self._context.part(), emit)

    def _aggregation(self, name: str, plan: AggregationPlan) -> Aggregation:
        self._context.owner = f"the aggregation {name!r}"
        made = plan.made(self._context.part())
        receiver: Receiver = made.receive
        for make in reversed(plan.stages):
            receiver = make(self._context.part(), receiver)
        self._junctions[plan.source].add(receiver)
        return made

    def _build(self, query: QueryPlan, junctions: Junctions) -> None:
        """Build the query's parts, which read and write in `junctions`."""
        self._context.owner = query.label
        if isinstance(query.input, JoinPlan):
            self._build_join(query, query.input, junctions)
        elif isinstance(query.input, PatternPlan):
            context, selector = self._context.part(), self._selector(query, junctions)
            take = self._taker(query, selector, junctions)
            receive = selector.receive if take is None else one_or_more(take, selector.receive)
            pattern = Pattern(query.input, context, receive)
            for stream in query.input.streams:
                junctions[stream].add(pattern.receiver(stream), pattern.taker(stream))
        else:
            self._build_stream(query, query.input, junctions)

    def _build_stream(self, query: QueryPlan, plan: StreamPlan, junctions: Junctions) -> None:
        contexts = [self._context.part() for _ in plan.stages]
        selector = self._selector(query, junctions)
        receiver: Receiver = selector.receive
        window: EventWindow | None = None
        for make, context in zip(reversed(plan.stages), reversed(contexts), strict=True):
            if isinstance(make, WindowStage):
                window = make.make(context, receiver)
                receiver = window.receive
            else:
                receiver = make(context, receiver)
        junctions[plan.source].add(receiver, self._taker(query, selector, junctions, window))

    def _taker(
        self, query: QueryPlan, selector: Selector, junctions: Junctions, window: EventWindow | None = None
    ) -> RowTaker | None:
        """Return the shorter way of one row; None if there is none."""
        plan = query.fused
        # what waits would fail later, and if it fails is seen
        if plan is None or not self._is_fused or (plan.waits and self._plan.faults):
            return None
        goes_on = query.target is not None and query.write is None
        target = self._target(query.target or "", junctions) if goes_on else Junction()
        query_listeners = self._query_listeners.setdefault(query.name, []) if query.name is not None else []
        return plan.bind(self._context, window, selector, query_listeners, target.takers)

    def _build_join(self, query: QueryPlan, plan: JoinPlan, junctions: Junctions) -> None:
        contexts = self._context.part(), self._context.part()
        left, right = (
            JoinSide(side is plan.left, side.width, side.triggers, side.is_outer) for side in (plan.left, plan.right)
        )
        join = Join(left, right, plan.meets, self._selector(query, junctions).receive_all)
        for side, of_plan, context in zip((left, right), (plan.left, plan.right), contexts, strict=True):
            if of_plan.table is not None:
                side.keeps = of_plan.table.rows
                continue
            if of_plan.finds is not None:
                side.finds = partial(of_plan.finds, self._aggregations[of_plan.source])
                continue
            if of_plan.window is None:
                meets_itself = plan.left.source == plan.right.source
                kept = self._windows[of_plan.source].rows
                receiver = join.receiver_of_kept(side, kept, meets_itself=meets_itself)
            else:
                receiver = join.receiver(side, of_plan.window, context)
            junctions[of_plan.source].add(self._staged(of_plan, receiver))

    def _staged(self, side: SidePlan, receiver: Receiver) -> Receiver:
        stages: tuple[MakeStage, ...] = side.before
        for make in reversed(stages):
            receiver = make(self._context.part(), receiver)
        return receiver

    def _selector(self, query: QueryPlan, junctions: Junctions) -> Selector:
        of_selector, of_rate = self._context.part(), self._context.part()
        return Selector(query.selection, of_selector, query.rate(of_rate, self._output(query, junctions)))

    def _target(self, stream: str, junctions: Mapping[str, Junction]) -> Junction:
        return (junctions if stream.startswith("#") else self._junctions)[stream]

    def _output(self, query: QueryPlan, junctions: Mapping[str, Junction]) -> Receiver:
        if query.write is not None:
            deliver: Receiver | None = query.write.receive
        elif query.target in self._windows:
            deliver = self._windows[query.target].receive
        elif query.target is not None:
            target = self._target(query.target, junctions)
            deliver = one_or_more(target.take, target.send)
        else:
            deliver = None
        listeners = self._query_listeners.setdefault(query.name, []) if query.name is not None else []

        def output(chunk: Chunk) -> None:
            for listener in listeners:
                listener(chunk)
            rows = as_current(chunk)
            if rows and deliver is not None:
                deliver(rows)

        return output


def _float_places(streams: Mapping[str, Columns]) -> dict[str, frozenset[int]]:
    """Return the places of columns of 32 bits, by stream."""
    places = {
        name: frozenset(place for place, one in enumerate(columns) if one.type == "float")
        for name, columns in streams.items()
    }
    return {name: found for name, found in places.items() if found}
