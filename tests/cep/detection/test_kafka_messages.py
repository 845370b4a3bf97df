"""The partition that Spark writes a base to is the one where everybody else looks for it."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cep.detection.kafka_messages import with_partition
from streams.topics import partition_of


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_spark_and_python_agree_on_partitions(spark: SparkSession, partitions: int) -> None:
    bases = ["BTC", "ETH", "SOL", "XRP", "1INCH", "ß"]
    found = spark.createDataFrame(pa.table({"key": bases})).transform(with_partition, partitions).collect()
    assert {row["key"]: row["partition"] for row in found} == {base: partition_of(base, partitions) for base in bases}
