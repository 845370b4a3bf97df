"""A stream app over recorded data, in Spark: a task for each partition of the log. Its rows are those of a live run."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from backtest.apps.recorded_messages import RecordedPartition
from backtest.verify.errors import CannotVerifyError
from cep.apps.errors import AppFailedError
from cep.apps.hosts.app_messages import app_message
from cep.apps.hosts.event_watch import EventWatch, watched
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.run_log import reported_to
from streams.message_format import WireError
from tick_sets.errors import ImportRejectedError

ROWS_BETWEEN_SIZES = 100_000


@dataclass(frozen=True, slots=True)
class ReplayTask:
    """The same for every task: its number selects the partition."""

    source: AppSource
    partitions: tuple[RecordedPartition, ...]
    log_pipe: Path | None = None
    """The pipe of `cep.run_log`."""

    def run(self, numbers: Iterable[int]) -> Iterator[tuple[bytes, str]]:
        """Return messages of the topic `apps`, and at the end of a partition that could not be read to its end the
        reason: in each pair one is empty."""
        for number in numbers:
            try:
                # a recording waits for the terminal; a session would not
                with reported_to(self.log_pipe, is_patient=True):
                    for message in replayed(self.source, self.partitions[number]):
                        yield message, ""
            except AppFailedError as error:
                yield b"", str(error)
            except (ImportRejectedError, CannotVerifyError, WireError, OSError, pa.ArrowInvalid) as error:
                yield b"", f"partition {self.partitions[number].partition} cannot be read: {error}"


def replayed(source: AppSource, partition: RecordedPartition) -> Iterator[bytes]:
    """Return the app's messages of one partition. Raises AppFailedError; and if the recording cannot be read
    ImportRejectedError, CannotVerifyError, WireError, OSError, ArrowInvalid."""
    app = HostedApp(source, partition.partition)
    with watched(EventWatch(lambda: app)):
        for number, (offset, written_at, row) in enumerate(partition.messages(), start=1):
            for out in app.take(offset, written_at, row):
                yield app_message(out)
            if number % ROWS_BETWEEN_SIZES == 0:
                # does it keep too much? live it would be ended
                app.snapshot()


def replayed_in_spark(
    spark: SparkSession, source: AppSource, partitions: Iterable[RecordedPartition], log_pipe: Path | None = None
) -> Iterator[tuple[bytes, str]]:
    """Return the messages by partition, each in its order; as `ReplayTask.run`."""
    task = ReplayTask(source, tuple(partitions), log_pipe)
    count = len(task.partitions)
    numbers = spark.sparkContext.parallelize(range(count), max(count, 1))
    return numbers.mapPartitions(task.run).toLocalIterator(prefetchPartitions=True)
