"""The micro-batch query from the log to spread windows.

Why `foreachBatch` over batches of the log and not a stateful operator: a spread needs the newest quote of each exchange
(one aggregate) and a window needs the spreads (another), and Spark rejects two aggregates in a row in update mode;
writing every spread of every row would slow the real-time query down. So Spark reads and parses the log, and the
batch's rows go on here, one by one, to the state that is carried from batch to batch (`spread_windows`). That state is
in this process: a restart begins a minute earlier in the log and computes it again. A quote from before that start that
was only kept alive since is missing until the exchange's next quote.

A window is written once, when its base's log is a second past its end; a row later than that is left out.
"""

import asyncio

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from cep.detection.kafka_messages import log_messages
from cep.detection.latest import with_slot
from cep.detection.log_start import LogStart
from cep.detection.market_layout import Layout
from cep.detection.spark_schema import SETTINGS_FIELDS, tick_rows
from cep.detection.spread_rows import COLUMNS, SOURCE_COLUMNS, RowValues, counted_rows, rows_in_order
from cep.detection.spread_windows import LATENESS, LONGEST, SpreadWindows
from runtime.clock import SystemClock
from session.session import Session
from streams.message_format import row_of, spread_window_message
from streams.mirrored_rows import unrepeated_rows
from streams.query_progress import WINDOW_BATCH_SECONDS
from streams.topic_writer import TopicWriter
from streams.topics import SPREADS

LOOK_BACK = LONGEST + LATENESS
MAX_ROWS = 50_000
"""Rows of one micro-batch, so that a replay at full speed is split."""
FIRST_BATCH_LOOK_SECONDS = 0.2

INTERPRETED = {
    # a few thousand rows a batch: generating and compiling code would cost more than it saves
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def start_spreads(spark: SparkSession, session: Session, layout: Layout, opening: LogStart) -> StreamingQuery:
    """Return the micro-batch query `ticks` → `spreads`, in the JVM of the real-time query but with settings of its own.

    It dies if Kafka does not take the windows of a batch."""
    own = spark.newSession()
    for name, value in INTERPRETED.items():
        own.conf.set(name, value)
    windows = SpreadWindows(layout, None if opening.settings is None else row_of(opening.settings.encode()))
    writer, unrepeated = TopicWriter(session.services.kafka), unrepeated_rows(session.place.region)

    def write(messages_df: DataFrame, _batch: int) -> None:
        read = read_rows(messages_df, layout, session.place.region)
        rows = rows_in_order(read if unrepeated is None else counted_rows(read, unrepeated))
        for window in windows.closed_by(rows):
            writer.write(SPREADS, spread_window_message(window), window.base)
        asyncio.run(writer.flush())

    messages_df = log_messages(own, session, opening.starting_offsets, MAX_ROWS)
    interval = f"{WINDOW_BATCH_SECONDS} seconds"
    return messages_df.writeStream.queryName("spreads").foreachBatch(write).trigger(processingTime=interval).start()


def read_rows(messages_df: DataFrame, layout: Layout, region: str | None = None) -> list[RowValues]:
    """Return `log_rows` as plain values.

    Not by way of Arrow: with the libraries that it loads it takes 40 MB, for some thousand rows every 15 seconds.
    """
    place = COLUMNS.index("settings")
    return [
        (*row[:place], None if row[place] is None else row[place].asDict(), *row[place + 1 :])
        for row in messages_df.transform(log_rows, layout, region).collect()
    ]


def log_rows(messages_df: DataFrame, layout: Layout, region: str | None = None) -> DataFrame:
    """Messages of `ticks` → `COLUMNS`, in a session with regions `SOURCE_COLUMNS` too."""
    source = () if region is None else SOURCE_COLUMNS
    settings = F.when(F.col("kind") == "settings", F.struct(*SETTINGS_FIELDS))
    prices = [F.col(name).try_cast("double").alias(name) for name in ("bid", "ask")]
    return (
        messages_df.transform(tick_rows)
        .transform(with_slot, layout)
        .select(*COLUMNS[:6], *prices, settings.alias("settings"), *source)
    )


async def first_batch(spreads: StreamingQuery) -> None:
    """Return once it has run a batch, or has died."""
    while spreads.isActive and spreads.lastProgress is None:
        await SystemClock().sleep(FIRST_BATCH_LOOK_SECONDS)
