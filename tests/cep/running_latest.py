"""The state at each row of a log in batch: the aggregates of the real-time query over a running window."""

from pyspark.sql import DataFrame, Window

from cep.detection.latest import newest_aggregates
from cep.detection.market_layout import Layout


def latest_at_each_row(rows_df: DataFrame, layout: Layout) -> DataFrame:
    """One row per row, computed from all rows of its base up to itself."""
    up_to_here = Window.partitionBy("base").orderBy("offset").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return rows_df.select(
        "base", *[aggregate.over(up_to_here).alias(name) for name, aggregate in newest_aggregates(layout)]
    )
