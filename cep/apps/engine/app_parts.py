"""The parts of a running app, put together from its plan: each reads from streams, and writes to others."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Literal

from cep.apps.compiler.aggregation import AggregationPlan
from cep.apps.compiler.app import AppPlan, NamedWindowPlan
from cep.apps.compiler.join import JoinPlan, SidePlan
from cep.apps.compiler.partitions import PartitionPlan
from cep.apps.compiler.query import QueryPlan, StreamPlan
from cep.apps.compiler.stages import MakeStage, WindowStage
from cep.apps.engine.junctions import FAULTS, Junction, Junctions, drop_faults, faults_to
from cep.apps.engine.partition_instances import PartitionInstances
from cep.apps.functions.key_processors import ProcessorPlan, Processors
from cep.apps.parts.aggregations import Aggregation
from cep.apps.parts.app_context import AppContext
from cep.apps.parts.chunks import Chunk, Event, Receiver, Row, RowTaker, as_current, one_or_more
from cep.apps.parts.joins import Join, JoinSide
from cep.apps.parts.patterns import Pattern, PatternPlan
from cep.apps.parts.selector import Selector
from cep.apps.parts.windows import EventWindow

PartKind = Literal["table", "trigger", "window", "aggregation", "element", "processor"]
PartKey = tuple[PartKind, str]


class AppParts:
    """All of one app, in the order of its text: snapshots know each part by its number."""

    def __init__(self, plan: AppPlan, context: AppContext, *, is_fused: bool) -> None:
        self._plan, self._context, self._is_fused = plan, context, is_fused
        self.ranks: dict[PartKey, range] = {}
        """Of the parts of each table, window, aggregation, trigger, and of each query or partition by its place among
        them."""
        for name, table in plan.tables.items():
            context.owner = f"the table {name!r}"
            with self._ranked("table", name):
                context.part().keep(table)
        self.junctions = {name: Junction() for name in (*plan.streams, *plan.windows)}
        self.senders: dict[str, RowTaker] = {}
        """What does with a row of the log all that its stream's takers do, the clock included: of streams whose first
        reader has a function for that."""
        for name, make in plan.triggers.items():
            with self._ranked("trigger", name):
                make(context.part(), self.junctions[name].send)
        self.windows: dict[str, EventWindow] = {
            name: self._named_window(name, window) for name, window in plan.windows.items()
        }
        self.query_listeners: dict[str, list[Receiver]] = {}
        self.partitions: list[PartitionInstances] = []
        for name, has_stream in plan.faults.items():
            self.junctions[name].on_fault = faults_to(self.junctions[f"!{name}"]) if has_stream else drop_faults
        self.aggregations = {name: self._aggregation(name, one) for name, one in plan.aggregations.items()}
        for number, element in enumerate(plan.elements):
            with self._ranked("element", str(number)):
                if isinstance(element, PartitionPlan):
                    instances = PartitionInstances(element, context, self.junctions, self._build, is_fused=is_fused)
                    self.partitions.append(instances)
                else:
                    self._build(element, self.junctions)
        for name, processor in plan.processors.items():
            with self._ranked("processor", name):
                self._build_processor(processor)

    @contextmanager
    def _ranked(self, kind: PartKind, name: str) -> Iterator[None]:
        first = self._context.ranks + 1
        yield
        self.ranks[kind, name] = range(first, self._context.ranks + 1)

    def _named_window(self, name: str, plan: NamedWindowPlan) -> EventWindow:
        junction = self.junctions[name]
        self._context.owner = f"the window {name!r}"

        def emit(chunk: Chunk) -> None:
            wanted = [event for event in chunk if event[0] in plan.wanted]
            if wanted:
                junction.send(wanted)

        with self._ranked("window", name):
            return plan.make(self._context.part(), emit)

    def _aggregation(self, name: str, plan: AggregationPlan) -> Aggregation:
        self._context.owner = f"the aggregation {name!r}"
        with self._ranked("aggregation", name):
            made = plan.made(self._context.part())
            receiver: Receiver = made.receive
            for make in reversed(plan.stages):
                receiver = make(self._context.part(), receiver)
        self.junctions[plan.source].add(receiver)
        return made

    def _build_processor(self, plan: ProcessorPlan) -> None:
        self._context.owner = plan.label
        made = Processors(plan, self._context.part(), lambda stream, at, row: self.junctions[stream].take(at, row))
        for stream in plan.columns:
            self.junctions[stream].add(made.receiver(stream), made.taker(stream))

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
                junctions[stream].add(pattern.receiver(stream), pattern.taker(stream, is_fused=self._is_fused))
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
        junction = junctions[plan.source]
        is_first = junctions is self.junctions and not junction.takers and junction.on_fault is None
        take = self._taker(query, selector, junctions, window)
        junction.add(receiver, take)
        if is_first and take is not None and query.fused is not None:
            bound = self._bound(query, selector, junctions)
            sender = query.fused.bind_first(self._context, window, *bound, junction.rest)
            self.senders[plan.source] = sender

    def _taker(
        self, query: QueryPlan, selector: Selector, junctions: Junctions, window: EventWindow | None = None
    ) -> RowTaker | None:
        """Return the shorter way of one row; None if there is none."""
        plan = query.fused
        # what waits would fail later, and if it fails is seen
        if plan is None or not self._is_fused or (plan.waits and self._plan.faults):
            return None
        return plan.bind(self._context, window, *self._bound(query, selector, junctions))

    def _bound(
        self, query: QueryPlan, selector: Selector, junctions: Junctions
    ) -> tuple[Selector, list[Receiver], list[RowTaker]]:
        """Return the selector, who listens to the query, and what the rows that it writes are given to."""
        goes_on = query.target is not None and query.write is None
        target = self._target(query.target or "", junctions) if goes_on else Junction()
        query_listeners = self.query_listeners.setdefault(query.name, []) if query.name is not None else []
        return selector, query_listeners, target.outlet

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
                finds = partial(of_plan.finds, self.aggregations[of_plan.source])
                asks = plan.right if side.is_left else plan.left
                # a row that asks for what there is not is a fault of its stream, if that is to hear of faults
                side.finds = finds if asks.source in self._plan.faults else _or_nothing(finds)
                continue
            if of_plan.window is None:
                meets_itself = plan.left.source == plan.right.source
                kept = self.windows[of_plan.source].rows
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
        return (junctions if stream.startswith("#") else self.junctions)[stream]

    def _output(self, query: QueryPlan, junctions: Mapping[str, Junction]) -> Receiver:
        if query.write is not None:
            deliver: Receiver | None = query.write.receive
        elif query.target in self.windows:
            deliver = self.windows[query.target].receive
        elif query.target is not None:
            target = self._target(query.target, junctions)
            deliver = one_or_more(target.take, target.send)
        else:
            deliver = None
        listeners = self.query_listeners.setdefault(query.name, []) if query.name is not None else []

        def output(chunk: Chunk) -> None:
            for listener in listeners:
                listener(chunk)
            rows = as_current(chunk)
            if rows and deliver is not None:
                deliver(rows)

        return output


def _or_nothing(finds: Callable[[Row, int], Iterable[Event]]) -> Callable[[Row, int], Iterable[Event]]:
    """Return what finds nothing for a row that cannot ask: an app does not end for it."""

    def found(row: Row, at: int) -> Iterable[Event]:
        try:
            return finds(row, at)
        except FAULTS:
            return ()

    return found
