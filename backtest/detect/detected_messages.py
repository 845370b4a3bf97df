"""The messages that the live job would have written over a tick set, by its own functions in Spark: what verification
holds against the recorded ones.

    tick set → pieces → [read columns, kernel, rows of what was found] → the live functions' messages

What comes out does not depend on the pieces, nor on the files, partitions or executors.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from backtest.detect.batch_detection import layout_of_set, task_for
from backtest.detect.spark_workers import SparkWorkers
from cep.detection.kernel.hits import HIT_TYPE, spreads_of_hits
from cep.detection.market_layout import Layout
from cep.detection.opportunity_messages import opportunity_json
from market.decide.settings import Settings
from tick_sets.sets.tick_set import TickSet


def detected(spark: SparkSession, tick_set: TickSet, settings: Settings | None, pieces: int | None = None) -> DataFrame:
    """Return `base`, `offset`, `pair`, `key`, `value`: the messages that live CEP writes to `opportunities`, in no
    order.

    By base, `offset` and `pair` (place in the layout) they are in live order; markers are left out. `settings` hold
    from end to end; None: those of the log. `pieces`: how many tasks, by default a few per core. An id may come again.
    Raises LookupError if a market's currency cannot be converted.
    """
    task = task_for(tick_set, settings, pieces or SparkWorkers(spark).pieces)
    count = len(task.pieces)
    hits_df = spark.range(0, count, 1, max(count, 1)).mapInArrow(task.hits, HIT_TYPE)
    return hits_df.transform(_as_messages, layout_of_set(tick_set))


def _as_messages(hits_df: DataFrame, layout: Layout) -> DataFrame:
    return hits_df.transform(spreads_of_hits, layout).select(
        "base", "row.offset", "pair", F.col("base").alias("key"), opportunity_json(layout).alias("value")
    )
