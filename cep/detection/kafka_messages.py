"""The edges on Kafka that both queries share: messages of the log in, and which partition messages go to."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from session.session import Session
from streams.broker.topic_access import spark_options
from streams.topics import TICKS


def log_messages(
    spark: SparkSession, session: Session, starting_offsets: str, most_rows: int | None = None
) -> DataFrame:
    """Messages of `ticks` as Spark's Kafka source gives them, unbounded; `most_rows` of one micro-batch."""
    reader = (
        spark.readStream.format("kafka")
        .options(**spark_options(session.kafka))
        .option("subscribe", TICKS)
        .option("startingOffsets", starting_offsets)
    )
    return (reader if most_rows is None else reader.option("maxOffsetsPerTrigger", most_rows)).load()


def with_partition(messages_df: DataFrame, partitions: int) -> DataFrame:
    """Adds the partition of the key, as `streams.topics.partition_of` says it."""
    number = F.crc32(F.col("key").cast("binary")) % partitions
    return messages_df.withColumn("partition", number.cast("int"))
