"""Apps on the streams of a session: one Spark job whose tasks stay, one for each partition, with all apps of a run in
each.

Spark places them and starts a lost one again; the apps' states are in our snapshots.
"""

import signal
from collections.abc import Callable
from contextlib import suppress
from threading import Event

import psutil
from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.resident.ended_apps import forget_end, note_end, noted_end
from cep.apps.resident.task import ResidentTask
from cep.apps.resident.worker_files import signal_workers
from cep.apps.resident.worker_progress import forget_progress
from cep.apps.resident.worker_watch import WorkerWatch

MOST_FAILURES = 1_000
"""At most so many of a task: a worker that dies is started again; an app that fails is not."""
SPARK_ENDED = (Py4JError, PySparkException, ConnectionError)
END_SECONDS = 15.0
"""How long a process may take to save what it has; on a busy machine it takes seconds."""
WATCH_SECONDS = 1.0
"""Between two looks at the processes, and at what they say of their apps."""

TellEnd = Callable[[AppSource, str], None]
"""Takes an app that ended by itself, and why."""


def resident_master(partitions: int) -> str:
    """Spark on this machine, with a thread for each task that stays and one to spare."""
    return f"local[{partitions + 1}, {MOST_FAILURES}]"


class ResidentApps:
    """Run from `start` to `stop`; `ended` is set once none of them runs any more.

    `tell` is called, from a thread of its own, for each app that ends while others may go on.
    """

    def __init__(self, spark: SparkSession, task: ResidentTask, tell: TellEnd = lambda source, problem: None) -> None:
        self._spark, self._task, self._tell = spark, task, tell
        name = f"apps with {task.apps[0].source.name}"
        self._thread = InheritableThread(target=self._run, name=name, daemon=True)
        self._watching = InheritableThread(target=self._watch, name=f"watch of {name}", daemon=True)
        self.ended = Event()
        self.problems: dict[str, str] = {}
        """By label, why it ended if nobody asked it to; a sentence each."""
        self._is_stopping = False
        self._ended_by_spark: str | None = None

    def start(self) -> None:
        """Apps that ended in an earlier run are begun again."""
        forget_progress(self._task.folder)
        for app in self._task.apps:
            forget_end(app.folder)
        self._thread.start()
        self._watching.start()

    def stop(self) -> None:
        """Each partition saves what it has; what does not end is killed, which loses nothing: rows since its last
        snapshot come again, with their ids, when the app is run again."""
        self._is_stopping = True
        signal_workers(self._task.folder, signal.SIGTERM)
        if not self.ended.wait(END_SECONDS):
            with suppress(*SPARK_ENDED):
                self._spark.sparkContext.cancelJobGroup(self._group)
            signal_workers(self._task.folder, signal.SIGKILL)
        self._thread.join(END_SECONDS)
        if self._watching.ident is not None:
            self._watching.join(END_SECONDS)

    @property
    def _group(self) -> str:
        return self._task.apps[0].source.label

    def _watch(self) -> None:
        watch = WorkerWatch(self._task.folder, dict(enumerate(self._task.apps)))
        while not self.ended.wait(WATCH_SECONDS):
            for bad in watch.bad_workers():
                # first noted, so that the process that comes after this one has it no more
                if bad.app is not None:
                    note_end(bad.app.folder, bad.problem)
                with suppress(psutil.NoSuchProcess):
                    bad.process.kill()
            self._tell_ends()
        self._tell_ends()

    def _tell_ends(self) -> None:
        for app in self._task.apps:
            if app.source.label in self.problems:
                continue
            problem = noted_end(app.folder) or self._ended_by_spark
            if problem is not None:
                self.problems[app.source.label] = problem
                self._tell(app.source, problem)

    def _run(self) -> None:
        context, partitions = self._spark.sparkContext, self._task.partitions
        names = ", ".join(app.source.name for app in self._task.apps)
        context.setJobGroup(self._group, names, interruptOnCancel=True)
        try:
            context.parallelize(partitions, len(partitions)).mapPartitions(self._task.run).collect()
        except SPARK_ENDED as error:
            if not self._is_stopping:
                self._ended_by_spark = f"Spark ended it: {_cause(error)}"
        finally:
            self.ended.set()


def _cause(error: Exception) -> str:
    """Return the line that says why. py4j's first one names the call alone."""
    first, *others = str(error).splitlines() or ["no message"]
    return others[0].lstrip(": ") if others and isinstance(error, Py4JError) else first
