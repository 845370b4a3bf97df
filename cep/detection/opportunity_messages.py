"""Opportunities: the pairs whose net spread reaches the emitting threshold, as output messages."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cep.detection.latest import latest_by_state, with_slot
from cep.detection.latest_counted import RateSource, counted_by_state
from cep.detection.market_layout import Layout
from cep.detection.net_spreads import is_marker, pair_spreads, with_legs
from cep.detection.spark_schema import tick_rows


def opportunity_messages(
    messages_df: DataFrame, layout: Layout, opening_settings: str | None, rates: tuple[RateSource, ...] | None = None
) -> DataFrame:
    """Return the whole real-time job: messages of `ticks` in, messages (`key`, `value`) of `opportunities` out.

    `rates`: the session's sources of FX rates, if it has regions, so that rows may come again; None: they do not.
    """
    rows_df = messages_df.transform(tick_rows).transform(with_slot, layout)
    if rates is None:
        latest_df = rows_df.transform(latest_by_state, layout)
    else:
        latest_df = rows_df.transform(counted_by_state, layout, rates)
    return latest_df.transform(with_opening_settings, opening_settings).transform(opportunities_of_latest, layout)


def opportunities_of_latest(latest_df: DataFrame, layout: Layout) -> DataFrame:
    """State at each row → messages, in the order of the rows and, within one, of the pairs."""
    return (
        latest_df.transform(with_legs, layout)
        .transform(pair_spreads, layout)
        .transform(only_qualifying)
        .transform(as_messages, layout)
    )


def with_opening_settings(latest_df: DataFrame, opening_settings: str | None) -> DataFrame:
    """Until a settings row arrives, the settings in force at the start apply (a JSON row of the log; None: none)."""
    if opening_settings is None:
        return latest_df
    schema = latest_df.schema["settings"].dataType.simpleString()
    opening = F.from_json(F.lit(opening_settings), schema)
    return latest_df.withColumn("settings", F.coalesce("settings", opening))


def only_qualifying(spreads_df: DataFrame) -> DataFrame:
    pays = F.col("net_bps") >= F.col("settings.emit_net_bps")
    return spreads_df.filter(is_marker() | pays)


def as_messages(spreads_df: DataFrame, layout: Layout) -> DataFrame:
    """`key` (the base) and `value`: JSON as `streams.message_format.opportunity_of` reads it."""
    value = F.when(is_marker(), F.to_json(_marker())).otherwise(opportunity_json(layout))
    return spreads_df.select(F.col("base").alias("key"), value.alias("value"))


def opportunity_json(layout: Layout) -> Column:
    """From a row of `pair_spreads`."""
    return F.to_json(_opportunity(layout))


def _marker() -> Column:
    return F.struct(
        F.col("row.kind").alias("kind"),
        F.col("base"),
        F.col("row.marker_id").alias("marker_id"),
        F.col("row.offset").alias("offset"),
    )


def _opportunity(layout: Layout) -> Column:
    buy, sell, row = F.col("buy"), F.col("sell"), F.col("row")
    return F.struct(
        F.lit("opportunity").alias("kind"),
        _opportunity_id(buy, sell).alias("opportunity_id"),
        F.col("base"),
        _leg(buy, "ask").alias("buy"),
        _leg(sell, "bid").alias("sell"),
        F.array_distinct(F.array_compact(F.array(buy["fx"], sell["fx"]))).alias("fx"),
        F.col("settings.settings_version").alias("settings_version"),
        F.col("gross_bps"),
        F.col("fee_bps"),
        F.col("net_bps"),
        _expected_profit(buy, sell).alias("expected_profit"),
        F.lit(layout.settlement).alias("currency"),
        row["received_time"].alias("event_time"),
        (row["received_time"] + F.col("settings.opportunity_lifetime")).alias("expires_at"),
        row["offset"].alias("offset"),
    )


def _opportunity_id(buy: Column, sell: Column) -> Column:
    """Return one id for the same quotes, so that a re-emission after a crash changes nothing downstream."""
    quotes = (buy["quote"]["quote_id"], sell["quote"]["quote_id"], buy["fx"]["quote_id"], sell["fx"]["quote_id"])
    return F.substring(F.sha2(F.concat_ws("|", *quotes), 256), 1, 32)


def _leg(leg: Column, side: str) -> Column:
    quote = leg["quote"]
    return F.struct(
        leg["exchange"].alias("exchange"),
        quote["symbol"].alias("symbol"),
        leg["quote_currency"].alias("quote_currency"),
        quote[side].alias("price"),
        quote[f"{side}_amount"].alias("amount"),
        quote[f"{side}s"].alias("levels"),
        quote["quote_id"].alias("quote_id"),
        leg["age"].alias("age"),
        quote["exchange_time"].alias("exchange_time"),
        quote["received_time"].alias("received_time"),
    )


def _expected_profit(buy: Column, sell: Column) -> Column:
    """In the settlement currency, for the best levels only."""
    buy_price, sell_price = buy["buy_price"], sell["sell_price"]
    amount = F.least(
        buy["quote"]["ask_amount"].try_cast("double"),
        sell["quote"]["bid_amount"].try_cast("double"),
    )
    return (sell_price - buy_price - (buy_price * buy["fee"] + sell_price * sell["fee"])) * amount
