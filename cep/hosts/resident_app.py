"""An app on the streams of a session: a Spark job whose tasks stay, one for each partition of the topic.

Spark places them and starts a lost one again; the state is in our snapshots.
"""

import signal
from contextlib import suppress
from pathlib import Path
from threading import Event

from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cep.compiler.limit_annotation import app_limits
from cep.hosts.hosted_app import AppSource
from cep.hosts.resident_task import ResidentTask
from cep.hosts.worker_files import signal_workers
from cep.hosts.worker_watch import WorkerWatch

MOST_FAILURES = 1_000
"""Of a task: a worker that dies is started again; an app that fails is not."""
SPARK_ENDED = (Py4JError, PySparkException, ConnectionError)
END_SECONDS = 15.0
"""How long a process may take to save what it has; on a busy machine it takes seconds."""
WATCH_SECONDS = 1.0
"""Between two looks at the app's processes."""


def resident_master(partitions: int) -> str:
    """Spark on this machine, with a thread for each task that stays and one to spare."""
    return f"local[{partitions + 1}, {MOST_FAILURES}]"


class ResidentApp:
    """Runs from `start` to `stop`; `ended` is set once no partition runs any more."""

    def __init__(self, spark: SparkSession, task: ResidentTask) -> None:
        self._spark, self._task = spark, task
        self._thread = InheritableThread(target=self._run, name=f"app {task.source.name}", daemon=True)
        self._watching = InheritableThread(target=self._watch, name=f"watch of {task.source.name}", daemon=True)
        self.ended = Event()
        self.problems: list[str] = []
        """Why it ended, where nobody asked it to; a sentence each."""
        self._ended_by_watch: str | None = None
        self._is_stopping = False

    @property
    def source(self) -> AppSource:
        return self._task.source

    @property
    def description(self) -> str:
        """What runs where, as text."""
        places = ", ".join(f"{partition} from offset {offset}" for (_, partition), offset in self._task.first.items())
        log = "an input log of its own" if self.source.is_merged else self.source.topic
        return f"{self.source.name} (version {self.source.version}) runs on {log}, partition {places}"

    @property
    def folder(self) -> Path:
        """Where its snapshots and the numbers of its processes are."""
        return self._task.folder

    def start(self) -> None:
        self._thread.start()
        self._watching.start()

    def stop(self) -> None:
        """Each partition saves what it has; what does not end is killed, which loses nothing: rows since its last
        snapshot come again, with their ids, when the app is run again."""
        self._is_stopping = True
        signal_workers(self.folder, signal.SIGTERM)
        if not self.ended.wait(END_SECONDS):
            self._kill()
        self._thread.join(END_SECONDS)
        if self._watching.ident is not None:
            self._watching.join(END_SECONDS)

    def _kill(self) -> None:
        with suppress(*SPARK_ENDED):
            self._spark.sparkContext.cancelJobGroup(self._task.source.label)
        signal_workers(self.folder, signal.SIGKILL)

    def _watch(self) -> None:
        watch = WorkerWatch(self.folder, app_limits(self.source.app, self.source.terms.limits))
        while not self.ended.wait(WATCH_SECONDS):
            self._ended_by_watch = self._ended_by_watch or watch.problem()
            if self._ended_by_watch is not None:
                # again, where Spark has begun one before it heard
                self._kill()

    def _run(self) -> None:
        context = self._spark.sparkContext
        context.setJobGroup(self._task.source.label, self._task.source.name, interruptOnCancel=True)
        partitions = sorted(partition for _, partition in self._task.first)
        try:
            self.problems = context.parallelize(partitions, len(partitions)).mapPartitions(self._task.run).collect()
        except SPARK_ENDED as error:
            self.problems = [] if self._is_stopping else [f"Spark ended it: {_cause(error)}"]
        finally:
            if self._ended_by_watch is not None:
                self.problems = [self._ended_by_watch]
            self.ended.set()


def _cause(error: Exception) -> str:
    """The line that says why. py4j's first one names the call alone."""
    first, *others = str(error).splitlines() or ["no message"]
    return others[0].lstrip(": ") if others and isinstance(error, Py4JError) else first
