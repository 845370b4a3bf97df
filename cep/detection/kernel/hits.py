"""Converts the kernel's hits to rows of `cross_spreads.pair_spreads`, so that one function writes both."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cep.detection.latest import quote_id
from cep.detection.market_layout import Layout
from cep.detection.net_spreads import FX_TYPE, rate_used

QUOTE_TYPE = (
    "struct<exchange:string,symbol:string,sequence:bigint,bid:string,bid_amount:string,ask:string,ask_amount:string,"
    "bids:string,asks:string,exchange_time:bigint,received_time:bigint>"
)
LEG_TYPE = f"struct<slot:int,age:bigint,fee:double,price:double,quote:{QUOTE_TYPE},rate:{QUOTE_TYPE}>"
HIT_TYPE = (
    "struct<base:string,offset:bigint,received_time:bigint,pair:int,settings_version:int,opportunity_lifetime:bigint,"
    f"gross_bps:double,fee_bps:double,net_bps:double,buy:{LEG_TYPE},sell:{LEG_TYPE}>"
)
"""A pair that qualifies at the row `offset`, with its rows of the log; `rate` is null if there is none.

`price`: in the settlement currency, to buy or to sell. `pair`: its position in the layout."""


def spreads_of_hits(hits_df: DataFrame, layout: Layout) -> DataFrame:
    """HIT_TYPE → the row of `pair_spreads` for the same row and pair, and `pair`."""
    return hits_df.select(
        "base",
        "pair",
        F.struct("received_time", "offset").alias("row"),
        F.struct("settings_version", "opportunity_lifetime").alias("settings"),
        _leg(F.col("buy"), "buy_price", layout).alias("buy"),
        _leg(F.col("sell"), "sell_price", layout).alias("sell"),
        "gross_bps",
        "fee_bps",
        "net_bps",
    )


def _leg(leg: Column, price: str, layout: Layout) -> Column:
    quote, rate = leg["quote"], leg["rate"]
    currencies = F.array(*[F.lit(slot.quote_currency) for slot in layout.slots])
    inverted = F.array(*[F.lit(slot.fx is not None and layout.routes[slot.fx].inverted) for slot in layout.slots])
    currency = F.get(currencies, leg["slot"])
    used = rate_used(currency, F.get(inverted, leg["slot"]), rate, _id_of(rate))
    return F.struct(
        quote["exchange"].alias("exchange"),
        currency.alias("quote_currency"),
        _whole_quote(quote).alias("quote"),
        leg["age"].alias("age"),
        F.when(rate.isNotNull(), used).cast(FX_TYPE).alias("fx"),
        leg["fee"].alias("fee"),
        leg["price"].alias(price),
    )


def _whole_quote(quote: Column) -> Column:
    return F.struct(
        quote["symbol"].alias("symbol"),
        quote["bid"].alias("bid"),
        quote["bid_amount"].alias("bid_amount"),
        quote["ask"].alias("ask"),
        quote["ask_amount"].alias("ask_amount"),
        _levels(quote, "bid").alias("bids"),
        _levels(quote, "ask").alias("asks"),
        _id_of(quote).alias("quote_id"),
        quote["exchange_time"].alias("exchange_time"),
        quote["received_time"].alias("received_time"),
    )


def _levels(quote: Column, side: str) -> Column:
    """As `streams.message_format.levels_text` writes them; a tick set omits levels if there is only the best one."""
    best = F.concat(F.lit('[["'), quote[side], F.lit('","'), quote[f"{side}_amount"], F.lit('"]]'))
    return F.coalesce(quote[f"{side}s"], best)


def _id_of(row: Column) -> Column:
    return quote_id(row["exchange"], row["symbol"], row["sequence"])
