"""An app of the structured host: a query of Spark from the app's log to the topic `apps`, in micro-batches.

Spark's checkpoint has the offsets and the state of each batch together, so nothing is lost and nothing counted twice; a
batch that is run again writes its rows again, with their ids.
"""

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from cep.apps.engine.snapshots import FORMAT
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.resident.ended_apps import forget_end, noted_end
from cep.apps.resident.kernel import PlacedApp
from cep.apps.structured.key_processor import OUTPUT_COLUMNS, KeyProcessor
from cep.spark_session import STREAMING_SETTINGS
from streams.broker.kafka_users import spark_options
from streams.topics import APPS

log = logging.getLogger("cep")

BATCH_ROWS = 20_000
"""The rows of one micro-batch at most, all partitions together: they are in the worker's memory at once."""
TRIGGER = "250 milliseconds"
"""A batch costs about half a core's second however few rows it has."""
MOST_FAILURES = 5
"""In a row without a batch between them. Spark gives a Python process on the driver's side 10 s to start, which a busy
machine may miss."""
LOOK_SECONDS = 0.5
END_SECONDS = 30.0
SPARK_ENDED = (Py4JError, PySparkException, ConnectionError)
SETTINGS = STREAMING_SETTINGS


@dataclass(frozen=True, slots=True)
class StructuredTask:
    """`log_pipe`: of `cep.run_log`."""

    placed: PlacedApp
    kafka: str
    log_pipe: Path | None = None

    @property
    def checkpoint(self) -> Path:
        """Return the checkpoint folder of this version of the app, and of the form that its state has now: of another
        one the log is read again."""
        return self.placed.folder / f"checkpoint-{hashlib.sha256(FORMAT).hexdigest()[:8]}"

    @property
    def starting_offsets(self) -> str:
        """Spark's word for where the log begins; what it has in its checkpoint goes before it."""
        offsets = {str(partition): offset for (_, partition), offset in self.placed.first.items()}
        return json.dumps({self._topic: offsets})

    @property
    def positions(self) -> str:
        """Spark's word for the partitions that are read."""
        return json.dumps({self._topic: sorted(partition for _, partition in self.placed.first)})

    @property
    def _topic(self) -> str:
        return next(topic for topic, _ in self.placed.first)


def log_rows(spark: SparkSession, task: StructuredTask) -> DataFrame:
    """Rows of the app's log, unbounded: partition, offset, when it was written (microseconds), value."""
    return (
        spark.readStream.format("kafka")
        .options(**spark_options(task.kafka))
        .option("assign", task.positions)
        .option("startingOffsets", task.starting_offsets)
        .option("maxOffsetsPerTrigger", BATCH_ROWS)
        # the processor sees a gap in the offsets, and begins again behind it as the resident host does
        .option("failOnDataLoss", "false")
        .load()
        .select("partition", "offset", F.unix_micros("timestamp").alias("written_at"), "value")
    )


def app_messages(rows_df: DataFrame, task: StructuredTask) -> DataFrame:
    """Rows of the log -> messages of the topic `apps`."""
    processor = KeyProcessor(task.placed, task.log_pipe)
    return rows_df.groupBy("partition").transformWithState(processor, OUTPUT_COLUMNS, "append", "None")


def start_query(spark: SparkSession, task: StructuredTask) -> StreamingQuery:
    """Goes on at its checkpoint, if there is one."""
    messages_df = app_messages(log_rows(spark, task), task)
    return (
        messages_df.writeStream.queryName(task.placed.source.label)
        .format("kafka")
        .outputMode("append")
        .options(**spark_options(task.kafka))
        .option("topic", APPS)
        .option("checkpointLocation", str(task.checkpoint))
        .trigger(processingTime=TRIGGER)
        .start()
    )


class StructuredApp:
    """Runs from `start` to `stop`; `ended` is set once it does not run any more. `tell` is called, from a thread of its
    own, if it ends by itself."""

    def __init__(
        self,
        spark: SparkSession,
        task: StructuredTask,
        tell: Callable[[AppSource, str], None] = lambda source, why: None,
    ) -> None:
        self._spark, self._task, self._tell = spark, task, tell
        name = f"structured app {task.placed.source.name}"
        self._thread = InheritableThread(target=self._run, name=name, daemon=True)
        self._asked_to_end = Event()
        self.ended = Event()
        self.problems: dict[str, str] = {}
        """By label, why it ended if nobody asked it to; a sentence."""

    def start(self) -> None:
        """Start the app: one that ended in an earlier run is begun again, and ends with the next row of its log."""
        forget_end(self._task.placed.folder)
        self._thread.start()

    def stop(self) -> None:
        """Stop it; a batch that is not over is run again by the next run of the app."""
        self._asked_to_end.set()
        if self._thread.ident is not None:
            self._thread.join(END_SECONDS)

    def _run(self) -> None:
        try:
            problem = self._until_over()
        except SPARK_ENDED as error:
            problem = f"Spark ended it: {_first_line(error)}"
        if problem is not None and not self._asked_to_end.is_set():
            source = self._task.placed.source
            self.problems[source.label] = problem
            self._tell(source, problem)
        self.ended.set()

    def _until_over(self) -> str | None:
        """Why it has ended by itself. A query that fails is started again, and goes on at its checkpoint."""
        failures = 0
        while True:
            query = start_query(self._spark, self._task)
            problem = self._followed(query)
            if problem is not None or self._asked_to_end.is_set():
                return problem
            why = query.exception()
            failures = 1 if query.lastProgress is not None else failures + 1
            if failures >= MOST_FAILURES:
                return f"Spark ended it: {'the query was stopped' if why is None else _first_line(why)}"
            log.warning("the query is started again", extra={"reason": "" if why is None else _first_line(why)})

    def _followed(self, query: StreamingQuery) -> str | None:
        """Until it is over: what the app's end was, None if the query failed or was stopped."""
        folder = self._task.placed.folder
        try:
            while query.isActive:
                problem = noted_end(folder)
                if problem is not None and self._is_written(query):
                    return problem
                if self._asked_to_end.wait(LOOK_SECONDS):
                    return None
            # a batch that failed is run again, with the end in it
            forget_end(folder)
            return None
        finally:
            query.stop()

    def _is_written(self, query: StreamingQuery) -> bool:
        """Once the batch that noted the end has written its rows; they would be lost with it. False if it failed."""
        before = _last_batch(query)
        for _ in range(int(END_SECONDS / LOOK_SECONDS)):
            if not query.isActive:
                return False
            if not query.status["isTriggerActive"] or _last_batch(query) > before:
                return query.exception() is None
            if self._asked_to_end.wait(LOOK_SECONDS):
                return False
        return False


def _last_batch(query: StreamingQuery) -> int:
    """Its number; -1 before the first is over."""
    progress = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "no message")
