"""How far Spark's jobs are, told while they run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

ASKED_EVERY_SECONDS = 0.5


@contextmanager
def watched_jobs(spark: SparkSession, told: Callable[[float], None]) -> Iterator[None]:
    """`told` hears, from another thread, which share of the tasks of the stages at work is done."""
    ended = Event()
    watching = Thread(target=_watch, args=(spark, told, ended), daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


def _watch(spark: SparkSession, told: Callable[[float], None], ended: Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not ended.wait(ASKED_EVERY_SECONDS):
        try:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except (Py4JError, OSError):
            # the JVM is gone, which whoever waits for its job is told
            return
        known = [stage for stage in stages if stage is not None]
        tasks = sum(stage.numTasks for stage in known)
        if tasks:
            told(sum(stage.numCompletedTasks for stage in known) / tasks)
