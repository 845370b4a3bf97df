"""Kafka input of both queries, and output of the real-time one: messages of the log, the partition of its messages."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from session.session import Session
from streams.broker.kafka_users import spark_options
from streams.topics import TICKS


def log_messages(
    spark: SparkSession, session: Session, starting_offsets: str, max_rows: int | None = None
) -> DataFrame:
    """Messages of `ticks` as Spark's Kafka source gives them, unbounded; at most `max_rows` per micro-batch."""
    reader = (
        spark.readStream.format("kafka")
        .options(**spark_options(session.services.kafka))
        .option("subscribe", TICKS)
        .option("startingOffsets", starting_offsets)
    )
    return (reader if max_rows is None else reader.option("maxOffsetsPerTrigger", max_rows)).load()


def with_partition(messages_df: DataFrame, partitions: int) -> DataFrame:
    """Add the partition of the key, as `streams.topics.partition_of` computes it."""
    number = F.crc32(F.col("key").cast("binary")) % partitions
    return messages_df.withColumn("partition", number.cast("int"))
