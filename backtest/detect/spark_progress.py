"""Progress of Spark's jobs while they run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

ASKED_EVERY_SECONDS = 0.5


@contextmanager
def jobs_with_progress(spark: SparkSession, report: Callable[[float], None]) -> Iterator[None]:
    """Report progress in the context: `report` is called from another thread with the completed share of the running
    stages' tasks."""
    ended = Event()
    watching = Thread(target=_watch, args=(spark, report, ended), daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


def _watch(spark: SparkSession, report: Callable[[float], None], ended: Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not ended.wait(ASKED_EVERY_SECONDS):
        try:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except (Py4JError, OSError):
            # the JVM is gone; the caller that waits for the job gets the error
            return
        known = [stage for stage in stages if stage is not None]
        tasks = sum(stage.numTasks for stage in known)
        if tasks:
            report(sum(stage.numCompletedTasks for stage in known) / tasks)
