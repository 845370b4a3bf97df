"""What a Spark task does that stays: one partition of each topic in, the rows of all apps of a run out to the topic
`apps`.

The apps share a process and a consumer. Each has its own kernel, snapshots and limits, and gives what it would give
alone. Rows are written before a snapshot that is past them, so a task that was killed repeats rows, with equal ids, and
loses none.
"""

import asyncio
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cep.apps.errors import AppFailedError
from cep.apps.hosts.app_messages import app_message
from cep.apps.hosts.event_watch import EventWatch, watched
from cep.apps.parts.app_limits import AppLimitError
from cep.apps.parts.chunks import Row
from cep.apps.resident.ended_apps import note_end, noted_end
from cep.apps.resident.kernel import PlacedApp, ResidentKernel
from cep.apps.resident.worker_files import noted_worker
from cep.apps.resident.worker_progress import MOST_LOSSES, ProgressNotes, progress_notes
from cep.run_log import reported_to
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now
from runtime.tasks import run_until_first
from streams.message_format import WireError, row_of
from streams.records import Position, Record
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS

SNAPSHOT_SECONDS = 1.0
"""Between two rounds of snapshots: about so much is computed again after a crash."""
SNAPSHOT_PAUSES = 10
"""A round that takes long, for many apps or much state, is followed by so many times as long without one."""
ROWS_BETWEEN_FLUSHES = 10_000
"""Far fewer than the writer's buffer holds, which many apps that catch up would fill."""


@dataclass(frozen=True, slots=True)
class ResidentTask:
    """The same for every partition of a run. An app's place is its number in `apps`."""

    apps: tuple[PlacedApp, ...]
    kafka: str
    log_pipe: Path | None = None
    """The log pipe of `cep.run_log`."""

    @property
    def folder(self) -> Path:
        """Where its processes are noted: the first app's, since no other run has that app."""
        return self.apps[0].folder

    @property
    def partitions(self) -> list[int]:
        return sorted({partition for app in self.apps for _, partition in app.first})

    def run(self, partitions: Iterable[int]) -> Iterator[None]:
        """For `mapPartitions`: stays until this process gets SIGTERM, or no app is left. Gives nothing: why an app
        ended is noted in its folder."""
        for partition in partitions:
            with progress_notes(self.folder, partition) as notes, reported_to(self.log_pipe):
                asyncio.run(_Worker(self, partition, notes).stay())
        yield from ()


class _Worker:
    def __init__(self, task: ResidentTask, partition: int, notes: ProgressNotes) -> None:
        self._task, self._partition, self._notes = task, partition, notes
        self._kernels: dict[int, ResidentKernel] = {}
        """Those that run, by place."""
        self._readers: dict[Position, dict[int, ResidentKernel]] = {}
        self._last: ResidentKernel | None = None
        """The one that was given a row last."""
        self._unflushed = 0

    async def stay(self) -> None:
        asked_to_end = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked_to_end.set)
        with noted_worker(self._task.folder, self._partition):
            self._begin()
            if not self._kernels:
                return
            writer = TopicWriter(self._task.kafka)
            await writer.open()
            try:
                with watched(EventWatch(lambda: None if self._last is None else self._last.app)):
                    async with self._reader() as reader:
                        await run_until_first(
                            self._follow(reader, writer), self._keep_saving(writer), _until(asked_to_end)
                        )
                    await self._save(writer)
            finally:
                await writer.close()

    def _begin(self) -> None:
        deadly = self._notes.deadly_row
        if deadly is not None:
            place, offset = deadly
            sentence = f"its process was lost {MOST_LOSSES} times at row {offset} of partition {self._partition}"
            note_end(self._task.apps[place].folder, f"the app was ended: {sentence}")
        for place, placed in enumerate(self._task.apps):
            position = (placed.source.topic, self._partition)
            if position not in placed.first or noted_end(placed.folder) is not None:
                continue
            try:
                kernel = ResidentKernel(placed, self._partition)
            except AppFailedError as error:
                note_end(placed.folder, str(error))
                continue
            self._kernels[place] = kernel
            self._readers.setdefault(position, {})[place] = kernel

    def _reader(self) -> TopicReader:
        """One consumer for all, from where the one that is furthest behind goes on."""
        first = {position: min(one.next for one in readers.values()) for position, readers in self._readers.items()}
        return TopicReader(self._task.kafka, tuple({topic: None for topic, _ in first}), first)

    async def _follow(self, reader: TopicReader, writer: TopicWriter) -> None:
        """Until no app is left."""
        async for batch in reader.batches():
            for record in batch:
                self._take(record, writer)
                if self._unflushed >= ROWS_BETWEEN_FLUSHES:
                    self._unflushed = 0
                    await writer.flush()
            if not self._kernels:
                return

    def _take(self, record: Record, writer: TopicWriter) -> None:
        try:
            row = row_of(record.value)
        except WireError:
            row = None
        notes, offset, read = self._notes, record.offset, dict[str, Row | None]()
        for place, kernel in list(self._readers[record.position].items()):
            self._last = kernel
            notes.begin(place, offset)
            try:
                found = kernel.take(record, row, read)
            except (AppFailedError, AppLimitError) as error:
                self._end(place, str(error))
                found = []
            notes.end()
            for out in found:
                writer.write(APPS, app_message(out), self._task.apps[place].source.label, self._partition)
            self._unflushed += len(found)

    def _end(self, place: int, sentence: str) -> None:
        """End one app; the others go on."""
        note_end(self._task.apps[place].folder, sentence)
        self._leave(place)

    def _leave(self, place: int) -> None:
        # both loops may find that an app has ended
        kernel = self._kernels.pop(place, None)
        if kernel is not None:
            del self._readers[kernel.position][place]

    async def _keep_saving(self, writer: TopicWriter) -> None:
        """Until no app is left."""
        clock, pause = SystemClock(), SNAPSHOT_SECONDS
        while self._kernels:
            await clock.sleep(pause)
            for place in [one for one in self._kernels if noted_end(self._task.apps[one].folder) is not None]:
                # it was ended in another partition
                self._leave(place)
            began = steady_now()
            await self._save(writer)
            pause = max(SNAPSHOT_SECONDS, SNAPSHOT_PAUSES * (steady_now() - began) / MICROSECONDS)

    async def _save(self, writer: TopicWriter) -> None:
        """Save what was written first, then the states that are past it. Rows are taken between any two apps."""
        clock, taken = SystemClock(), []
        for place, kernel in list(self._kernels.items()):
            if not kernel.is_saved:
                self._notes.begin(place, kernel.next)
                try:
                    taken.append((kernel, kernel.app.snapshot(), kernel.next))
                except AppFailedError as error:
                    self._end(place, str(error))
                self._notes.end()
                await clock.sleep(0)
        if taken:
            await writer.flush()
        for kernel, snapshot, until in taken:
            kernel.save(snapshot, until)
            await clock.sleep(0)


async def _until(event: asyncio.Event) -> None:
    await event.wait()
