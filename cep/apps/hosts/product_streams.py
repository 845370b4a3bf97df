"""The streams of a session that an app reads by their names, without a definition of its own.

| stream | topic | rows |
|---|---|---|
| `ticks` | `ticks` | what the feeds wrote: quotes, signs of life and withdrawals, FX rates too |
| `quotes` | `ticks` | quotes of traded markets alone |
| `opportunities` | `opportunities` | what the detection found |
| `spreads` | `spreads` | statistics of windows |
| `health` | `health` | progress of Spark's queries |
| `trades` | MongoDB | states that arbitrages come into |
| `fills` | MongoDB | what was bought and sold |
| `rejections` | MongoDB | opportunities that were not traded, counted by pair, reason and second |

An app's clock is its log's: of `ticks` the times at which rows were received, settings and probe rows included; of
other topics the times at which their rows were written.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from cep.apps.compiler.expression_code import function_of, tuple_source
from cep.apps.hosts.notice_sinks import notice_queries
from cep.apps.language.app_parser import parse_app
from cep.apps.language.app_tree import App, ColumnDefinition, StreamDefinition, TableDefinition
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Place, ValueType
from cep.apps.language.stream_names import StreamNames, stream_names
from cep.apps.parts.chunks import Row
from cep.apps.parts.scope import Environment, nearest, unknown
from streams.message_format import MARK_KINDS
from streams.topics import HEALTH, OPPORTUNITIES, SPREADS, TICKS

STORE = "store"
"""In place of a topic, for streams that come from MongoDB."""
TICK_KINDS = frozenset(("quote", "fx", *MARK_KINDS))


ReadRow = Callable[[Mapping[str, Any]], Row | None]


@dataclass(frozen=True, slots=True)
class ProductColumn:
    """`path`: where its value is in a row of the topic."""

    name: str
    type: ValueType
    path: tuple[str, ...]

    @property
    def source(self) -> str:
        """The Python of its value in `row`; None if the row has none."""
        first, *others = self.path
        found = f"row.get({first!r})"
        for name in others:
            found = f"(None if (part := {found}) is None else part.get({name!r}))"
        kind = _CLASSES[self.type]
        return f"(None if (v := {found}) is None else v if v.__class__ is {kind} else {kind}(v))"


@dataclass(frozen=True)
class ProductStream:
    """`kinds`: the rows of its topic that are its rows; None: all of them."""

    name: str
    topic: str
    kinds: frozenset[str] | None
    columns: tuple[ProductColumn, ...]

    def row_of(self, row: Mapping[str, Any]) -> Row | None:
        """None if the row of the topic is none of this stream. Raises ValueError, TypeError, AttributeError."""
        return self._read(row)

    @cached_property
    def _read(self) -> ReadRow:
        """One generated function for all columns, as every row of the topic goes through it."""
        values = tuple_source([column.source for column in self.columns])
        source = values if self.kinds is None else f"{values} if row.get('kind') in kinds else None"
        return cast(ReadRow, function_of(source, "row", Environment({"kinds": self.kinds})))


_CLASSES: Mapping[ValueType, str] = {
    "string": "str",
    "bool": "bool",
    "int": "int",
    "long": "int",
    "double": "float",
}


def _columns(kind: ValueType, *names: str) -> tuple[ProductColumn, ...]:
    return tuple(ProductColumn(name, kind, (name,)) for name in names)


def _leg(side: str) -> tuple[ProductColumn, ...]:
    of_leg: tuple[tuple[str, ValueType], ...] = (
        ("exchange", "string"),
        ("symbol", "string"),
        ("price", "double"),
        ("amount", "double"),
        ("age", "long"),
    )
    return tuple(ProductColumn(f"{side}_{name}", kind, (side, name)) for name, kind in of_leg)


_MARKET = _columns("string", "exchange", "symbol", "base", "quote_currency")
_BEST = _columns("double", "bid", "bid_amount", "ask", "ask_amount")
_TIMES = _columns("long", "exchange_time", "received_time", "sequence")

PRODUCT_STREAMS: Mapping[str, ProductStream] = {
    one.name: one
    for one in (
        ProductStream("ticks", TICKS, TICK_KINDS, (*_columns("string", "kind"), *_MARKET, *_BEST, *_TIMES)),
        ProductStream("quotes", TICKS, frozenset(("quote",)), (*_MARKET, *_BEST, *_TIMES)),
        ProductStream(
            "opportunities",
            OPPORTUNITIES,
            frozenset(("opportunity",)),
            (
                *_columns("string", "opportunity_id", "base"),
                *_leg("buy"),
                *_leg("sell"),
                *_columns("double", "gross_bps", "fee_bps", "net_bps", "expected_profit"),
                *_columns("string", "currency"),
                *_columns("long", "event_time", "expires_at"),
                *_columns("int", "settings_version"),
            ),
        ),
        ProductStream(
            "spreads",
            SPREADS,
            None,
            (
                *_columns("string", "base", "buy_exchange", "sell_exchange"),
                *_columns("long", "start", "end"),
                *_columns("double", "mean_bps", "deviation", "max_bps", "share_above"),
                *_columns("long", "rows"),
            ),
        ),
        ProductStream(
            "health",
            HEALTH,
            frozenset(("query",)),
            (
                *_columns("string", "query"),
                *_columns("bool", "is_active"),
                *_columns("long", "reported_at", "started_at", "batch", "batch_ms", "batch_rows", "state_rows"),
            ),
        ),
        ProductStream(
            "trades",
            STORE,
            frozenset(("trades",)),
            (
                *_columns("string", "arbitrage_id", "base", "buy_exchange", "buy_symbol", "sell_exchange"),
                *_columns("string", "sell_symbol", "strategy", "state", "reason"),
                *_columns("double", "amount", "net"),
                *_columns("string", "currency"),
                *_columns("long", "at"),
            ),
        ),
        ProductStream(
            "fills",
            STORE,
            frozenset(("fills",)),
            (
                *_columns("string", "fill_id", "arbitrage_id", "exchange", "symbol", "base", "side"),
                *_columns("double", "price", "amount", "cost", "fee"),
                *_columns("string", "fee_currency"),
                *_columns("long", "filled_at"),
            ),
        ),
        ProductStream(
            "rejections",
            STORE,
            frozenset(("rejections",)),
            (
                *_columns("string", "rejection_id", "opportunity_id", "base", "buy_exchange", "sell_exchange"),
                *_columns("string", "exchange", "reason"),
                *_columns("double", "net_bps", "expected_profit"),
                *_columns("int", "count", "number"),
                *_columns("long", "rejected_at"),
            ),
        ),
    )
}
"""Prices, amounts and rates are doubles, times microseconds UTC; null if a row has no such value."""


def parse_with_product_streams(text: str) -> App:
    """Return the app, with a definition of each stream of the product that it reads. Raises AppTextError."""
    app = parse_app(text)
    for mistake in product_stream_mistakes(app):
        raise mistake
    return with_product_streams(app)


def product_stream_mistakes(app: App) -> Iterator[AppTextError]:
    """Yield what is wrong with how the app uses streams of the product, and with streams that are almost one."""
    names = stream_names(app)
    for definition in app.definitions:
        # a table may have the name of a stream that the app does not read
        if definition.name in PRODUCT_STREAMS and not isinstance(definition, TableDefinition):
            problem = f"{definition.name!r} is a stream of the product: read it without a definition, or choose a name"
            yield AppTextError(definition.at, problem)
    for name in names.inserted:
        if name in PRODUCT_STREAMS and name not in names.defined:
            yield AppTextError(names.inserted[name], f"{name!r} is a stream of the product, and no app writes to it")
    known = [*names.defined, *names.inserted, *PRODUCT_STREAMS]
    for name in _wanted(names):
        # the engine refuses the others, and knows only the streams of the product that are read
        if name not in PRODUCT_STREAMS and nearest(name, known) is not None:
            yield unknown(names.read[name], f"there is no stream {name!r}", name, known)


def with_product_streams(app: App) -> App:
    """Return the app with a definition of each stream of the product that it reads, and a query for each sink by which
    it notifies people."""
    names = stream_names(app)
    given = [_definition(PRODUCT_STREAMS[name], names.read[name]) for name in _wanted(names) if name in PRODUCT_STREAMS]
    elements = (*app.elements, *notice_queries(app))
    return replace(app, definitions=(*given, *app.definitions), elements=elements)


def _wanted(names: StreamNames) -> list[str]:
    """Return what is read and nowhere in the text made."""
    return [name for name in names.read if name not in names.defined and name not in names.inserted]


def read_streams(app: App) -> tuple[ProductStream, ...]:
    """Those that the app reads, in the order of PRODUCT_STREAMS."""
    read = stream_names(app).read
    tables = {one.name for one in app.definitions if isinstance(one, TableDefinition)}
    return tuple(stream for name, stream in PRODUCT_STREAMS.items() if name in read and name not in tables)


def _definition(stream: ProductStream, at: Place) -> StreamDefinition:
    return StreamDefinition(
        at, stream.name, tuple(ColumnDefinition(at, column.name, column.type) for column in stream.columns)
    )
