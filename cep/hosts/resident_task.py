"""What a Spark task does that stays: one partition of the topic in, the app's rows out to the topic `apps`.

Rows are written before a snapshot that is past them, so a task that was killed repeats rows, with equal ids, and loses
none.
"""

import asyncio
import logging
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cep.engine.snapshots import SnapshotError
from cep.hosts.app_messages import app_message
from cep.hosts.event_watch import EventWatch, watched
from cep.hosts.hosted_app import AppFailedError, AppSource, HostedApp
from cep.hosts.snapshot_folder import SnapshotFolder
from cep.hosts.worker_files import beat, noted_worker
from market.time_units import MICROSECONDS
from session.clock import steady_now
from streams.message_format import WireError, row_of
from streams.records import Position, Record
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS

SNAPSHOT_SECONDS = 1.0
"""At most so much is computed again after a crash, and a moment more."""

log = logging.getLogger("cep")


@dataclass(frozen=True, slots=True)
class ResidentTask:
    """The same for every partition of an app. `first`: where the log begins for it, by position."""

    source: AppSource
    kafka: str
    folder: Path
    first: dict[Position, int]

    def run(self, partitions: Iterable[int]) -> Iterator[str]:
        """For `mapPartitions`: stays until this process gets SIGTERM, or the app fails; why, a sentence each."""
        for partition in partitions:
            try:
                asyncio.run(_Partition(self, partition).stay())
            except AppFailedError as error:
                yield str(error)


class _Partition:
    def __init__(self, task: ResidentTask, partition: int) -> None:
        self._task, self._partition = task, partition
        self._position = (task.source.topic, partition)
        self._snapshots = SnapshotFolder(task.folder)
        self._app, self._next = self._resumed()
        self._saved_at, self._is_saved = steady_now(), True

    def _resumed(self) -> tuple[HostedApp, int]:
        """The app and the offset to go on at: from its snapshot, where there is one that can be used."""
        app = HostedApp(self._task.source, self._partition)
        data = self._snapshots.load(self._partition)
        if data is not None:
            try:
                app.restore(data)
            except SnapshotError as error:
                log.warning("snapshot not used: the log is read again", extra={"reason": str(error)})
                app = HostedApp(self._task.source, self._partition)
        return app, self._task.first[self._position] if app.position is None else app.position

    async def stay(self) -> None:
        asked_to_end = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked_to_end.set)
        writer = TopicWriter(self._task.kafka)
        await writer.open()
        reader = TopicReader(self._task.kafka, (self._task.source.topic,), {self._position: self._next})
        watch = EventWatch(lambda: self._app, lambda: beat(self._task.folder, self._partition))
        with noted_worker(self._task.folder, self._partition), watched(watch):
            async with reader:
                work = asyncio.ensure_future(self._follow(reader, writer))
                end = asyncio.ensure_future(asked_to_end.wait())
                await asyncio.wait((work, end), return_when=asyncio.FIRST_COMPLETED)
                end.cancel()
                work.cancel()
                await asyncio.wait((work,))
            try:
                if not work.cancelled():
                    work.result()
                await self._save(writer)
            finally:
                await writer.close()

    async def _follow(self, reader: TopicReader, writer: TopicWriter) -> None:
        async for batch in reader.batches():
            for record in batch:
                self._take(record, writer)
            self._is_saved = False
            if steady_now() - self._saved_at >= SNAPSHOT_SECONDS * MICROSECONDS:
                await self._save(writer)

    def _take(self, record: Record, writer: TopicWriter) -> None:
        if record.offset > self._next:
            log.warning("rows are gone from the log: begun without them", extra={"until": record.offset})
            self._app = HostedApp(self._task.source, self._partition)
        self._next = record.offset + 1
        try:
            row = row_of(record.value)
        except WireError:
            return
        for out in self._app.take(record.offset, record.time, row):
            writer.write(APPS, app_message(out), self._task.source.label, self._partition)

    async def _save(self, writer: TopicWriter) -> None:
        """What was written first, then the state that is past it."""
        if self._is_saved:
            return
        snapshot = self._app.snapshot()
        await writer.flush()
        self._snapshots.save(self._partition, snapshot)
        self._saved_at, self._is_saved = steady_now(), True
