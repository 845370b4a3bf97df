"""Spread windows: statistics of the net spread of every pair of exchanges over sliding windows of the log.

    rows of the log → spread of each pair at each row → panes of one second → windows of 10 s / 1 s and 60 s / 5 s

A pane is the sum over one second that every window holding it shares, so a row is counted once and not in 22 windows.
Mean, deviation, maximum and share come out of panes as they would out of rows, except for the last bits of a sum.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cep.detection.market_layout import Layout

PANE = 1_000_000
WINDOWS = ((10_000_000, 1_000_000), (60_000_000, 5_000_000))
"""Length and slide in microseconds; a slide is a multiple of a pane and a length a multiple of its slide."""
LONGEST = max(length for length, _ in WINDOWS)

PAIR = ("base", "buy_exchange", "sell_exchange")


def spread_rows(pairs_df: DataFrame, layout: Layout) -> DataFrame:
    """`pair_spreads` → `base, buy_exchange, sell_exchange, event_time, net_bps, is_above`; pairs without a spread are
    dropped.

    `is_above`: at or over the trading threshold of the settings in force at the row.
    """
    exchanges = F.array(*[F.lit(slot.exchange) for slot in layout.slots])
    return pairs_df.filter(F.col("net_bps").isNotNull()).select(
        "base",
        F.get(exchanges, F.col("buy_slot")).alias("buy_exchange"),
        F.get(exchanges, F.col("sell_slot")).alias("sell_exchange"),
        F.col("row.received_time").alias("event_time"),
        "net_bps",
        (F.col("net_bps") >= F.col("settings.min_net_bps")).alias("is_above"),
    )


def panes(spread_rows_df: DataFrame) -> DataFrame:
    """One row per pair and second: `pane` (its start), `rows`, `sum_bps`, `sum_squares`, `max_bps`, `above`."""
    pane = F.col("event_time") - F.col("event_time") % PANE
    return spread_rows_df.groupBy(*PAIR, pane.alias("pane")).agg(
        F.count("*").alias("rows"),
        F.sum("net_bps").alias("sum_bps"),
        F.sum(F.col("net_bps") * F.col("net_bps")).alias("sum_squares"),
        F.max("net_bps").alias("max_bps"),
        F.count_if("is_above").alias("above"),
    )


def spread_windows(panes_df: DataFrame) -> DataFrame:
    """Every window that contains a pane: `base, buy_exchange, sell_exchange, start, end, mean_bps, deviation, …`.

    Partial panes of one pair and second are merged. `deviation` is of the population.
    """
    shorter, longer = (panes_df.transform(_windows, length, slide) for length, slide in WINDOWS)
    return shorter.unionByName(longer)


def window_messages(windows_df: DataFrame) -> DataFrame:
    """`key` (the base) and `value`: JSON as `streams.message_format.spread_window_of` reads it."""
    return windows_df.select(F.col("base").alias("key"), F.to_json(F.struct("*")).alias("value"))


def newest_rows(rows_df: DataFrame) -> DataFrame:
    """The rows that determine the state after `rows_df`: the newest of each market, FX symbol and kind."""
    matters = F.col("slot").isNotNull() | F.col("route").isNotNull() | (F.col("kind") == "settings")
    newest = F.max_by(F.struct(*rows_df.columns), F.col("offset")).alias("newest")
    keys = [F.col(name).alias(f"{name}_") for name in ("base", "slot", "route", "kind")]
    return rows_df.filter(matters).groupBy(*keys).agg(newest).select("newest.*")


def _windows(panes_df: DataFrame, length: int, slide: int) -> DataFrame:
    last = F.col("pane") - F.col("pane") % slide
    starts = F.sequence(last - (length - slide), last, F.lit(slide).cast("long"))
    mean = F.col("sum_bps") / F.col("rows")
    variance = F.col("sum_squares") / F.col("rows") - mean * mean
    return (
        panes_df.withColumn("start", F.explode(starts))
        .groupBy(*PAIR, "start")
        .agg(
            *[F.sum(name).alias(name) for name in ("rows", "sum_bps", "sum_squares", "above")],
            F.max("max_bps").alias("max_bps"),
        )
        .select(
            *PAIR,
            "start",
            (F.col("start") + length).alias("end"),
            mean.alias("mean_bps"),
            # the difference of two nearly equal sums may be slightly below zero
            F.sqrt(F.greatest(variance, F.lit(0.0))).alias("deviation"),
            "max_bps",
            (F.col("above") / F.col("rows")).alias("share_above"),
            "rows",
        )
    )
