"""The micro-batch query from the log to spread windows.

Why `foreachBatch` over batches of the log and not a stateful operator: a spread needs the newest quote of each exchange
(one aggregate) and a window needs the spreads (another), and Spark rejects two aggregates in a row in update mode;
writing every spread of every row would slow the real-time query down. A micro-batch may run any batch query, so each
one prepends the few rows that hold the previous state (`newest_rows`), computes each row's spreads with the functions
of the real-time query, and adds panes to those of the last minute. The carried state is in this process: a restart
begins a minute earlier in the log and computes it again. A quote from before that start that was only kept alive since
is missing until the exchange's next quote.

A window is written once, when its base's log is a second past its end; a row later than that is left out.
"""

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from cep.detection.kafka_messages import log_messages, with_partition
from cep.detection.latest import latest_at_each_row, with_slot
from cep.detection.log_start import LogStart
from cep.detection.market_layout import Layout
from cep.detection.net_spreads import pair_spreads, with_legs
from cep.detection.opportunity_messages import with_opening_settings
from cep.detection.spark_schema import tick_rows
from cep.detection.spread_windows import LONGEST, PANE, newest_rows, panes, spread_rows, spread_windows, window_messages
from session.lag import WINDOW_BATCH_SECONDS
from session.session import Session
from streams.broker.topic_access import spark_options
from streams.topics import SPREADS

LATENESS = 1_000_000
LOOK_BACK = LONGEST + LATENESS
MAX_ROWS = 50_000
"""Rows of one micro-batch, so that a replay at full speed is split."""

INTERPRETED = {
    # a few hundred rows a batch: generating and compiling code would cost more than it saves
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class CarriedSpreads:
    """State carried from one micro-batch to the next: newest rows, panes of the last minute, written windows."""

    def __init__(self, layout: Layout, opening_settings: str | None) -> None:
        self._layout = layout
        self._opening_settings = opening_settings
        self._rows: pa.Table | None = None
        self._panes: pa.Table | None = None
        self._begins: dict[str, int] = {}
        self._closed: dict[str, int] = {}

    def closed_windows(self, messages_df: DataFrame) -> DataFrame | None:
        """The windows that these messages close; None where there is no spread yet. Call once per batch, in order."""
        spark = messages_df.sparkSession
        rows_df = messages_df.transform(tick_rows).transform(with_slot, self._layout).withColumn("is_new", F.lit(True))
        if self._rows is not None:
            carried_df = spark.createDataFrame(self._rows, rows_df.schema).withColumn("is_new", F.lit(False))
            rows_df = carried_df.unionByName(rows_df)
        new_panes = rows_df.transform(self._spreads_of_new_rows).transform(panes).toArrow()
        rows = rows_df.transform(newest_rows).toArrow()
        all_panes = new_panes if self._panes is None else pa.concat_tables([self._panes, new_panes])
        closing = self._closing(rows, new_panes)
        self._rows, self._panes = rows, self._without_old(all_panes)
        if all_panes.num_rows == 0:
            return None
        return spark.createDataFrame(all_panes).transform(spread_windows).filter(closing)

    def _spreads_of_new_rows(self, rows_df: DataFrame) -> DataFrame:
        return (
            latest_at_each_row(rows_df, self._layout, "is_new")
            .filter("is_new")
            .transform(with_opening_settings, self._opening_settings)
            .transform(with_legs, self._layout)
            .transform(pair_spreads, self._layout)
            .transform(spread_rows, self._layout)
        )

    def _closing(self, rows: pa.Table, new_panes: pa.Table) -> Column:
        """Windows that ended a second before the base's newest row, were not written yet, and start after our first
        row."""
        for pane in new_panes.select(["base", "pane"]).to_pylist():
            self._begins[pane["base"]] = min(self._begins.get(pane["base"], pane["pane"] + PANE), pane["pane"] + PANE)
        closing = F.lit(False)
        for base, newest in _newest_times(rows).items():
            before, now = self._closed.get(base, 0), newest - LATENESS
            ends = (F.col("end") > before) & (F.col("end") <= now) & (F.col("start") >= self._begins.get(base, now))
            closing = closing | ((F.col("base") == base) & ends)
            self._closed[base] = max(before, now)
        return closing

    def _without_old(self, all_panes: pa.Table) -> pa.Table:
        kept = [row for row in all_panes.to_pylist() if row["pane"] + LONGEST >= self._closed.get(row["base"], 0)]
        return pa.Table.from_pylist(kept, schema=all_panes.schema)


def start_spreads(spark: SparkSession, session: Session, layout: Layout, opening: LogStart) -> StreamingQuery:
    """The micro-batch query `ticks` → `spreads`, in the JVM of the real-time query but with settings of its own."""
    own = spark.newSession()
    for name, value in INTERPRETED.items():
        own.conf.set(name, value)
    carried = CarriedSpreads(layout, opening.settings)

    def write(messages_df: DataFrame, _batch: int) -> None:
        windows_df = carried.closed_windows(messages_df)
        if windows_df is not None:
            messages = windows_df.transform(window_messages).transform(with_partition, session.partitions)
            messages.write.format("kafka").options(**spark_options(session.kafka)).option("topic", SPREADS).save()

    messages_df = log_messages(own, session, opening.starting_offsets, MAX_ROWS)
    interval = f"{WINDOW_BATCH_SECONDS} seconds"
    return messages_df.writeStream.queryName("spreads").foreachBatch(write).trigger(processingTime=interval).start()


def _newest_times(rows: pa.Table) -> dict[str, int]:
    newest = rows.group_by("base").aggregate([("received_time", "max")]).to_pylist()
    return {row["base"]: row["received_time_max"] for row in newest}
