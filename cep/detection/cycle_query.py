"""Detection of cycles as a Spark job of one task that stays: it reads the log from where it was, writes what it finds,
and saves its state once a second. Rows are written before a state that is past them is saved: a process that was killed
repeats rows, with equal ids, and loses none."""

import asyncio
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cep.detection.cycle_detection import PARTITION, CycleDetection
from cep.detection.kernel.cycle_log import load_cycle_kernel
from cep.detection.log_start import Checkpoint
from cep.errors import CepStoppedError
from cep.snapshot_folder import SnapshotFolder
from market.instruments.cycles import Cycle
from market.time_units import MICROSECONDS
from runtime.backoff import retry_on
from runtime.clock import steady_now, wall_now
from session.session import Session
from streams.errors import StreamUnavailableError
from streams.message_format import WireError, row_of
from streams.query_progress import CYCLES_QUERY, QueryProgress
from streams.records import Record
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import CYCLE_OPPORTUNITIES, TICKS

SAVED_EVERY = MICROSECONDS
SPARK_ENDED = (Py4JError, PySparkException, ConnectionError)

log = logging.getLogger("cep")


@dataclass(frozen=True, slots=True)
class CycleTask:
    """What the task needs. It begins at `first` with the `settings` row in force there, or goes on from its state."""

    cycles: tuple[Cycle, ...]
    kafka: str
    first: int
    settings: str | None
    folder: Path
    """Where its state is."""

    def run(self, partitions: Iterable[int]) -> Iterator[None]:
        """For `mapPartitions`: stays until its process ends. Gives nothing."""
        for _ in partitions:
            asyncio.run(self.stay())
        yield from ()

    async def stay(self) -> None:
        """Follow the log. An outage of Kafka, however long, is waited for: what it lost is found again from the newest
        state. Raises StreamRejectedError."""
        load_cycle_kernel(self.cycles)
        await retry_on(self._follow, (StreamUnavailableError,), _log_outage)

    async def _follow(self) -> None:
        follower = CycleFollower(self)
        writer = TopicWriter(self.kafka)
        await writer.open()
        try:
            async with TopicReader(self.kafka, (TICKS,), {(TICKS, PARTITION): follower.next}) as reader:
                async for batch in reader.batches():
                    for record in batch:
                        for key, message in follower.take(record):
                            writer.write(CYCLE_OPPORTUNITIES, message, key, PARTITION)
                    if follower.is_due:
                        state = follower.state()
                        await writer.flush()
                        follower.save(state)
        finally:
            await writer.close()


def _log_outage(error: Exception) -> None:
    log.warning("detection of cycles waits for Kafka: %s", error)


class CycleFollower:
    """Detection, and how far it has come."""

    def __init__(self, task: CycleTask) -> None:
        """Go on from the state that was saved, if there is one."""
        self._task = task
        self._states = SnapshotFolder(task.folder)
        self._saved_at = steady_now()
        self.next = task.first
        """Offset of the next row."""
        self._detection = self._begun(task.settings)
        self._resume()

    @property
    def is_due(self) -> bool:
        """Whether the state is to be saved."""
        return steady_now() - self._saved_at >= SAVED_EVERY

    def take(self, record: Record) -> list[tuple[str, bytes]]:
        """Return the messages of the next row, each with its key. A row that cannot be read leads to none."""
        if record.offset < self.next:
            return []
        if record.offset > self.next:
            log.warning("rows are gone from the log: cycles are found without them", extra={"until": record.offset})
            self._detection = self._begun(self._detection.settings)
        self.next = record.offset + 1
        try:
            return self._detection.take(record.offset, row_of(record.value))
        except (WireError, KeyError, TypeError, ValueError, ArithmeticError) as error:
            log.warning("row not read", extra={"offset": record.offset, "reason": repr(error)})
            return []

    def state(self) -> bytes:
        """Return what `save` takes."""
        return b"%d\n%b" % (self.next, self._detection.saved())

    def save(self, state: bytes) -> None:
        """Save it; all that rows before it led to is acknowledged. Raises OSError."""
        self._states.save(PARTITION, state)
        self._saved_at = steady_now()

    def _begun(self, settings: str | None) -> CycleDetection:
        detection = CycleDetection(self._task.cycles)
        detection.apply_opening(settings)
        return detection

    def _resume(self) -> None:
        saved = self._states.load(PARTITION)
        if saved is None:
            return
        following, _, state = saved.partition(b"\n")
        detection = CycleDetection(self._task.cycles)
        try:
            detection.restore(state)
            self.next, self._detection = int(following), detection
        except (KeyError, TypeError, ValueError) as error:
            log.warning("state of cycles not used: the log is read again", extra={"reason": repr(error)})


def saved_figures(folder: Path) -> dict[str, object]:
    """Return fields of QueryProgress by the newest state in the folder; none before the first."""
    try:
        with SnapshotFolder(folder).path(PARTITION).open("rb") as file:
            following, status = int(file.readline()), os.fstat(file.fileno())
    except (OSError, ValueError):
        return {}
    written_at = status.st_mtime_ns // 1_000
    return {"offsets": {str(PARTITION): following}, "state_bytes": status.st_size, "checkpoint_at": written_at}


class CycleQuery:
    """The job, in a thread of its own. Spark gives a lost worker no second one: the process is restarted, as it is for
    its other queries."""

    def __init__(self, spark: SparkSession, session_id: str, task: CycleTask) -> None:
        self._spark, self._session_id, self._task = spark, session_id, task
        self._started_at = wall_now()
        self._problem: str | None = None
        self._thread = InheritableThread(target=self._run, name="cycles", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise CepStoppedError if it has ended."""
        if not self._thread.is_alive():
            raise CepStoppedError(f"detection of cycles ended: {self._problem or 'it was stopped'}")

    def progress(self, now: int) -> QueryProgress:
        """Return how far it has come, as its newest state says."""
        return QueryProgress(
            session_id=self._session_id,
            query=CYCLES_QUERY,
            is_real_time=False,
            is_active=self._thread.is_alive(),
            reported_at=now,
            started_at=self._started_at,
            message="Finding cycles",
            **saved_figures(self._task.folder),  # type: ignore[arg-type]  # its fields
        )

    def _run(self) -> None:
        context = self._spark.sparkContext
        try:
            context.parallelize([PARTITION], 1).mapPartitions(self._task.run).collect()
        except SPARK_ENDED as error:
            self._problem = str(error).partition("\n")[0]


def start_cycles(spark: SparkSession, session: Session, checkpoint: Checkpoint) -> CycleQuery:
    """Begin where the query of pairs began. The session watches cycles."""
    opening, folder = checkpoint.opening, checkpoint.folder.with_name("cycles")
    reads = session.watched_cycles(), session.services.kafka, opening.offsets[PARTITION]
    return CycleQuery(spark, session.session_id, CycleTask(*reads, opening.settings, folder))
