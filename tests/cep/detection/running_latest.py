"""The state at each row of a log in batch: the aggregates of the real-time query over a running window."""

from pyspark.sql import Column, DataFrame, Window

from cep.detection.latest import newest_aggregates
from cep.detection.latest_counted import RateSource, as_latest, counted_aggregates, with_source
from cep.detection.market_layout import Layout


def latest_at_each_row(rows_df: DataFrame, layout: Layout) -> DataFrame:
    """One row per row, computed from all rows of its base up to itself."""
    return _at_each_row(rows_df, newest_aggregates(layout))


def counted_at_each_row(rows_df: DataFrame, layout: Layout, rates: tuple[RateSource, ...]) -> DataFrame:
    """Return the same over a region's log."""
    rows_df = rows_df.transform(with_source, layout, rates)
    return _at_each_row(rows_df, counted_aggregates(layout, rates)).transform(as_latest, layout, rates)


def _at_each_row(rows_df: DataFrame, aggregates: list[tuple[str, Column]]) -> DataFrame:
    up_to_here = Window.partitionBy("base").orderBy("offset").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return rows_df.select("base", *[aggregate.over(up_to_here).alias(name) for name, aggregate in aggregates])
