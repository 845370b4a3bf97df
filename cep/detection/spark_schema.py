"""The columns of a row of the log `ticks` in Spark; `streams.message_format` describes the same rows in words."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from cep.detection.row_kinds import FX_KINDS, QUOTE_KINDS
from market.prices.opportunities import MARKER_KINDS

TICK_SCHEMA = StructType(
    [
        StructField("kind", StringType()),
        StructField("base", StringType()),
        StructField("bases", ArrayType(StringType())),
        StructField("exchange", StringType()),
        StructField("symbol", StringType()),
        StructField("bid", StringType()),
        StructField("bid_amount", StringType()),
        StructField("ask", StringType()),
        StructField("ask_amount", StringType()),
        StructField("bids", StringType()),
        StructField("asks", StringType()),
        StructField("exchange_time", LongType()),
        StructField("received_time", LongType()),
        StructField("sequence", LongType()),
        StructField("settings_version", IntegerType()),
        StructField("emit_net_bps", DoubleType()),
        StructField("min_net_bps", DoubleType()),
        StructField("asset_thresholds", MapType(StringType(), DoubleType())),
        StructField("pair_thresholds", MapType(StringType(), DoubleType())),
        StructField("max_quote_age", LongType()),
        StructField("opportunity_lifetime", LongType()),
        StructField("enabled_exchanges", ArrayType(StringType())),
        StructField("taker_fees", MapType(StringType(), StringType())),
        StructField("marker_id", StringType()),
    ]
)
"""Prices and amounts stay decimal strings; times are microseconds UTC."""

SETTINGS_FIELDS = (
    "settings_version",
    "emit_net_bps",
    "min_net_bps",
    "asset_thresholds",
    "pair_thresholds",
    "max_quote_age",
    "opportunity_lifetime",
    "enabled_exchanges",
    "taker_fees",
)
KINDS = (*QUOTE_KINDS, *FX_KINDS, *MARKER_KINDS, "settings")


def tick_rows(messages_df: DataFrame) -> DataFrame:
    """Messages (`value` bytes, `offset`) as rows of the log, one per base that the row is for.

    Rows that do not match the schema are skipped; they do not stop the query.
    """
    # inside `explode`, because a filter would be pushed below the parsing and parse each message twice
    is_known = F.col("kind").isin(*KINDS) & F.col("received_time").isNotNull()
    bases = F.when(is_known, F.coalesce(F.col("bases"), F.array("base")))
    return (
        messages_df.select(F.from_json(F.col("value").cast("string"), TICK_SCHEMA).alias("tick"), "offset")
        .select("tick.*", "offset")
        .withColumn("base", F.explode(bases))
        .filter(F.col("base").isNotNull())
        .drop("bases")
    )
