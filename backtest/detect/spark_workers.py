"""Searches the pieces of a tick set in Spark's workers, on all cores of this machine or of a cluster."""

from pyspark.sql import SparkSession

from backtest.detect.spark_failures import LOST, spark_words
from backtest.detect.spark_progress import jobs_with_progress
from backtest.detect.workers import Found, Report, Work, WorkersStoppedError

PIECES_PER_CORE = 4
"""More pieces than cores, so that no core has to wait long for one that others use too."""


class SparkWorkers:
    """Implements `backtest.detect.workers.Workers`: a Spark task per piece."""

    shares_memory = False

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @property
    def pieces(self) -> int:
        return PIECES_PER_CORE * self._spark.sparkContext.defaultParallelism

    def run(self, work: Work[Found], count: int, report: Report) -> list[Found]:
        numbers = self._spark.sparkContext.parallelize(range(count), max(count, 1))
        try:
            with jobs_with_progress(self._spark, report):
                found: list[Found] = numbers.mapPartitions(work).collect()
        except LOST as error:
            raise WorkersStoppedError(f"Spark stopped ({spark_words(str(error))})") from error
        return found
