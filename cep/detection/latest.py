"""The state at each row of a base's log: the newest quote of every market, FX rate and settings, by offset.

One aggregate each, in a stateful `groupBy` of real-time mode. Output: `base`, `quote_<slot>` (null: none yet, or
withdrawn), `seen_<slot>` (when the quote was last confirmed, microseconds), `fx_<route>`, `fx_seen_<route>`,
`settings`, and `row`: the current row."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cep.detection.market_layout import Layout
from cep.detection.row_kinds import FX_KINDS, QUOTE_KINDS
from cep.detection.spark_schema import SETTINGS_FIELDS

ROW_FIELDS = ("kind", "slot", "received_time", "marker_id", "offset")
QUOTE_FIELDS = (
    "symbol",
    "bid",
    "bid_amount",
    "ask",
    "ask_amount",
    "bids",
    "asks",
    "quote_id",
    "exchange_time",
    "received_time",
)
FX_FIELDS = ("symbol", "bid", "ask", "quote_id")
_BETWEEN = "\n"
"""In no name of a base or symbol."""


def with_slot(rows_df: DataFrame, layout: Layout) -> DataFrame:
    """Add `slot` (of a quote's market), `route` (of an FX symbol) and `quote_id`; null if there is none."""
    # one set of words for each slot: Spark looks a word up in it by its hash, however many bases there are
    market = F.concat_ws(_BETWEEN, "base", "symbol")
    slot = position_of(
        [
            (F.col("exchange") == slot.exchange) & market.isin([_BETWEEN.join(one) for one in slot.symbols])
            for slot in layout.slots
        ]
    )
    route = position_of([F.col("symbol") == route.symbol for route in layout.routes])
    return rows_df.select(
        "*",
        F.when(F.col("kind").isin(*QUOTE_KINDS), slot).alias("slot"),
        F.when(F.col("kind").isin(*FX_KINDS), route).alias("route"),
        quote_id(F.col("exchange"), F.col("symbol"), F.col("sequence")).alias("quote_id"),
    )


def quote_id(exchange: Column, symbol: Column, sequence: Column) -> Column:
    return F.concat_ws(":", exchange, symbol, sequence)


def latest_by_state(rows_df: DataFrame, layout: Layout) -> DataFrame:
    """One row per base; in real-time mode one per row of the log, in its order."""
    return rows_df.groupBy("base").agg(*(aggregate.alias(name) for name, aggregate in newest_aggregates(layout)))


def newest_aggregates(layout: Layout) -> list[tuple[str, Column]]:
    """Name and aggregate of each column but `base`."""
    named: list[tuple[str, Column]] = []
    for number in range(len(layout.slots)):
        is_own = F.col("slot") == number
        named.append((f"quote_{number}", _newest(QUOTE_FIELDS, "quote", "withdrawn", is_own)))
        named.append((f"seen_{number}", _newest_time("quote", "alive", is_own)))
    for number in range(len(layout.routes)):
        is_own = F.col("route") == number
        named.append((f"fx_{number}", _newest(FX_FIELDS, "fx", "fx_withdrawn", is_own)))
        named.append((f"fx_seen_{number}", _newest_time("fx", "fx_alive", is_own)))
    named.append(("settings", newest_settings()))
    named.append(("row", F.max_by(F.struct(*ROW_FIELDS), F.col("offset"))))
    return named


def newest_settings() -> Column:
    is_settings = F.col("kind") == "settings"
    return F.max_by(F.struct(*SETTINGS_FIELDS), F.when(is_settings, F.col("offset")))


def _newest(fields: tuple[str, ...], kind: str, withdrawn: str, is_own: Column) -> Column:
    """Return the newest quote; null once withdrawn, because max_by returns the null at the highest offset."""
    counts = is_own & F.col("kind").isin(kind, withdrawn)
    return F.max_by(F.when(F.col("kind") == kind, F.struct(*fields)), F.when(counts, F.col("offset")))


def _newest_time(kind: str, alive: str, is_own: Column) -> Column:
    return F.max_by(F.col("received_time"), F.when(is_own & F.col("kind").isin(kind, alive), F.col("offset")))


def position_of(conditions: list[Column]) -> Column:
    """Return the number of the first that is true; null if none is."""
    position = F.lit(None).cast("int")
    for number, condition in reversed(list(enumerate(conditions))):
        position = F.when(condition, F.lit(number)).otherwise(position)
    return position
