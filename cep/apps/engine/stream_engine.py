"""A running app: rows of its log come in, rows of its streams go out. No input or output, no threads; the clock is the
log's, so the same log always gives the same rows."""

from collections.abc import Mapping

from cep.apps.compiler.app import compile_app
from cep.apps.engine.app_parts import AppParts
from cep.apps.engine.engine_state import EngineState
from cep.apps.engine.junctions import RowListener
from cep.apps.engine.kept_amounts import KeptAmounts
from cep.apps.engine.on_demand import AppData
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_tree import App
from cep.apps.parts.app_context import AppContext
from cep.apps.parts.chunks import Receiver, Row, RowTaker
from cep.apps.parts.scope import Columns
from cep.apps.parts.values import as_float


class StreamEngine:
    """One app, fed row by row. Who needs more of it has its `data` (tables and on-demand queries), its `state` (for
    snapshots), its `amounts` (what it keeps beside what it may) or its `plan`."""

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
        alone take the shorter way through the queries that have one; the rows are the same.

        Raises AppTextError, AppUnsupportedError if it cannot run as it is written.
        """
        self._context = context = AppContext(now, variables)
        own = context.part()
        self.plan = compile_app(app, own, terms or OperatorTerms())
        parts = AppParts(self.plan, context, is_fused=is_fused)
        self._junctions, self._query_listeners = parts.junctions, parts.query_listeners
        self.ranks = parts.ranks
        floats = _float_places(self.plan.streams)
        self._senders = {name: self._sender(name, floats.get(name)) for name in parts.junctions}
        self._senders |= {name: sender for name, sender in parts.senders.items() if name not in floats}
        self.data = AppData(self.plan, parts.windows, parts.aggregations, own)
        self.state = EngineState(context, parts.partitions)
        self.amounts = KeptAmounts(context, parts.partitions, self.plan.limits)

    @property
    def now(self) -> int:
        return self._context.now

    def columns_of(self, stream: str) -> Columns:
        """Raise KeyError if the app has no such stream."""
        return self.plan.streams[stream]

    def listen(self, stream: str, listener: RowListener) -> None:
        """Call `listener` with every row that enters `stream`. Raises KeyError if the app has no such stream."""
        self._junctions[stream].listen(listener)

    def listen_to_query(self, name: str, listener: Receiver) -> None:
        """Call `listener` with every chunk of the query `name`."""
        self._query_listeners.setdefault(name, []).append(listener)

    def send(self, stream: str, at: int, row: Row) -> None:
        """Take a row of the log, with its time in milliseconds. Raises KeyError if the app has no such stream."""
        self._senders[stream](at, row)

    def sender(self, stream: str) -> RowTaker:
        """Return what `send` does with the rows of one stream, for who has many. Raises KeyError if the app has no
        such stream."""
        return self._senders[stream]

    def advance(self, at: int) -> None:
        """Move the log's clock, if no row comes."""
        self._context.advance(at)

    def due(self) -> int | None:
        """Return the time of the log at which something happens though no row comes; None if nothing waits."""
        return self._context.first_due

    def _sender(self, stream: str, floats: frozenset[int] | None) -> RowTaker:
        """`floats`: places of the stream's columns of 32 bits."""
        context, junction = self._context, self._junctions[stream]
        outlet = junction.outlet

        def send(at: int, row: Row) -> None:
            # as `advance` does, without its calls
            if at > context.now:  # noqa: PLR1730
                context.now = at
            if context.first_due is not None and context.first_due <= context.now:
                context.advance(at)
            if floats is not None:
                row = _rounded(floats, row)
            outlet[0](at, row)

        return send


def _rounded(floats: frozenset[int], row: Row) -> Row:
    """With floats of 32 bits, as every part of the app computes them."""
    return tuple(as_float(one) if place in floats and one is not None else one for place, one in enumerate(row))


def _float_places(streams: Mapping[str, Columns]) -> dict[str, frozenset[int]]:
    """Return the places of columns of 32 bits, by stream."""
    places = {
        name: frozenset(place for place, one in enumerate(columns) if one.type == "float")
        for name, columns in streams.items()
    }
    return {name: found for name, found in places.items() if found}
