"""Cross spreads of pairs of exchanges at one row of the log, in IEEE doubles and a fixed order of operations.

    buy price  = ask × FX ask   or  ask ÷ FX bid (inverted)   or  ask
    sell price = bid × FX bid   or  bid ÷ FX ask (inverted)   or  bid
    gross bps  = (sell price − buy price) × 10000 ÷ buy price
    fee bps    = (buy price × buy fee + sell price × sell fee) × 10000 ÷ buy price
    net bps    = gross bps − fee bps

A plain loop in the tests must agree to the last bit, so the order must not change.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cep.detection.market_layout import Layout, Slot
from market.prices.opportunities import MARKER_KINDS

FX_TYPE = "struct<currency:string,symbol:string,inverted:boolean,bid:string,ask:string,quote_id:string>"
PAIRS_TYPE = "array<struct<buy:int,sell:int>>"


def with_legs(latest_df: DataFrame, layout: Layout) -> DataFrame:
    """Return `base, row, settings, legs`: per slot its prices in the settlement currency, null without a valid quote.

    A quote is valid while its exchange is enabled, it is not withdrawn, and it and its FX rate are not too old.
    """
    legs = [_leg(number, slot, layout) for number, slot in enumerate(layout.slots)]
    return latest_df.select("base", "row", "settings", F.array(*legs).alias("legs"))


def pair_spreads(legs_df: DataFrame, layout: Layout) -> DataFrame:
    """One row per pair to check, in order: pairs of the new quote's exchange, or all at an FX or settings row.

    Adds `buy`, `sell` (legs), `buy_slot`, `sell_slot`, `gross_bps`, `fee_bps`, `net_bps`. A marker gives one row
    without legs; a mark of a feed gives none.
    """
    buy_price, sell_price = F.col("buy.buy_price"), F.col("sell.sell_price")
    fees = buy_price * F.col("buy.fee") + sell_price * F.col("sell.fee")
    return (
        legs_df.select("*", F.explode(_pairs_to_look_at(layout)).alias("pair"))
        .select(
            "base",
            "row",
            "settings",
            F.col("pair.buy").alias("buy_slot"),
            F.col("pair.sell").alias("sell_slot"),
            F.get("legs", F.col("pair.buy")).alias("buy"),
            F.get("legs", F.col("pair.sell")).alias("sell"),
        )
        .withColumn("gross_bps", F.try_divide((sell_price - buy_price) * F.lit(10000.0), buy_price))
        .withColumn("fee_bps", F.try_divide(fees * F.lit(10000.0), buy_price))
        .withColumn("net_bps", F.col("gross_bps") - F.col("fee_bps"))
    )


def is_marker() -> Column:
    return F.col("row.kind").isin(*MARKER_KINDS)


def _leg(number: int, slot: Slot, layout: Layout) -> Column:
    quote, settings = F.col(f"quote_{number}"), F.col("settings")
    age = F.col("row.received_time") - F.col(f"seen_{number}")
    oldest = settings["max_quote_age"]
    counts = quote.isNotNull() & (age <= oldest) & F.array_contains(settings["enabled_exchanges"], slot.exchange)
    bid, ask = quote["bid"].try_cast("double"), quote["ask"].try_cast("double")
    fx, buy_price, sell_price = F.lit(None).cast(FX_TYPE), ask, bid
    if slot.fx is not None:
        counts = counts & (F.col("row.received_time") - F.col(f"fx_seen_{slot.fx}") <= oldest)
        fx, buy_price, sell_price = _converted(slot.fx, layout, ask, bid)
    return F.when(
        counts,
        F.struct(
            F.lit(slot.exchange).alias("exchange"),
            F.lit(slot.quote_currency).alias("quote_currency"),
            quote.alias("quote"),
            age.alias("age"),
            fx.alias("fx"),
            F.element_at(settings["taker_fees"], slot.exchange).try_cast("double").alias("fee"),
            buy_price.alias("buy_price"),
            sell_price.alias("sell_price"),
        ),
    )


def rate_used(currency: Column, is_inverted: Column, rate: Column, quote_id: Column) -> Column:
    """Return a value of FX_TYPE; `rate` has symbol, bid and ask."""
    return F.struct(
        currency.alias("currency"),
        rate["symbol"].alias("symbol"),
        is_inverted.alias("inverted"),
        rate["bid"].alias("bid"),
        rate["ask"].alias("ask"),
        quote_id.alias("quote_id"),
    )


def _converted(number: int, layout: Layout, ask: Column, bid: Column) -> tuple[Column, Column, Column]:
    """Return the FX rate used, and the buy and sell prices in the settlement currency, at the sides one would trade."""
    route, rate = layout.routes[number], F.col(f"fx_{number}")
    fx_bid, fx_ask = rate["bid"].try_cast("double"), rate["ask"].try_cast("double")
    used = rate_used(F.lit(route.currency), F.lit(route.inverted), rate, rate["quote_id"])
    if route.inverted:
        return used, F.try_divide(ask, fx_bid), F.try_divide(bid, fx_ask)
    return used, ask * fx_ask, bid * fx_bid


def _pairs_to_look_at(layout: Layout) -> Column:
    kind, slot = F.col("row.kind"), F.col("row.slot")
    by_slot = F.array(*[_pairs(layout.pairs_with(number)) for number in range(len(layout.slots))])
    none_of_both = F.array(F.struct(F.lit(None).cast("int").alias("buy"), F.lit(None).cast("int").alias("sell")))
    return (
        F.when(kind == "quote", F.get(by_slot, slot))
        .when(kind.isin("fx", "settings"), _pairs(layout.pairs))
        .when(kind.isin(*MARKER_KINDS), none_of_both)
    )


def _pairs(pairs: tuple[tuple[int, int], ...]) -> Column:
    return F.array(*[F.struct(F.lit(buy).alias("buy"), F.lit(sell).alias("sell")) for buy, sell in pairs]).cast(
        PAIRS_TYPE
    )
