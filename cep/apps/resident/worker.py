"""A process that runs apps on one partition: a kernel of each, one reader and one writer for all.

Each app has its own kernel, snapshots and limits, and gives what it would give alone. Rows are written before a
snapshot that is past them, so a process that was killed repeats rows, with equal ids, and loses none. Apps that come
while others run catch up by a reader of their own, so that no row of the others waits for the past.
"""

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from cep.apps.engine.on_demand import Answer
from cep.apps.errors import AppFailedError, AppNotYetError
from cep.apps.hosts.app_messages import AppRow, app_message
from cep.apps.hosts.event_watch import EventWatch, watched
from cep.apps.hosts.log_rows import RowReading
from cep.apps.language.app_tree import OnDemandQuery
from cep.apps.parts.app_limits import AppLimitError
from cep.apps.resident.app_figures import ROWS_BETWEEN_TIMES, AppFigures
from cep.apps.resident.ended_apps import note_end, noted_end
from cep.apps.resident.kernel import PlacedApp, ResidentKernel, TakenSnapshot
from cep.apps.resident.partition_readers import PartitionReaders
from cep.apps.resident.worker_progress import MOST_LOSSES, ProgressNotes
from cep.apps.resident.written_mark import WrittenMark
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
LONGEST_SNAPSHOT_SECONDS = 1.5
"""If a round takes long, for many apps or much state: then what is computed again stays below two seconds."""
SNAPSHOT_PAUSES = 10
"""Times as long as its rounds compute, a process goes without one, up to that."""
WAIT_MS = 2
"""How long a row of an app waits for those of the other apps for the same row of the log: a request to Kafka for each
costs it and this process more than all else that they do for it."""
SLICE = 20_000
"""Microseconds after which whoever asks an app is answered between two rows."""
ROWS_BETWEEN_FLUSHES = 10_000
"""Far fewer than the writer's buffer holds, which many apps that catch up would fill."""
KEYS_BETWEEN_FREEZES = 10_000
TURN_SECONDS = 2.0
"""So long apps catch up before others that came meanwhile do so with them."""

Beside = Callable[["AppWorker"], Coroutine[object, object, None]]
Due = Callable[[PartitionReaders[ResidentKernel], int], list[tuple[int, ResidentKernel]]]


class AppWorker:
    def __init__(self, kafka: str, partition: int, notes: ProgressNotes, apps: Mapping[int, PlacedApp]) -> None:
        """`apps`: by place, a number of the run's own that no other app gets."""
        self._kafka, self.partition, self._notes = kafka, partition, notes
        self.apps = dict(apps)
        self.kernels: dict[int, ResidentKernel] = {}
        """Those that run, by place."""
        self.figures: dict[int, AppFigures] = {}
        """Of those that are looked at, by place."""
        self._readers: dict[Position, PartitionReaders[ResidentKernel]] = {}
        self._last: ResidentKernel | None = None
        """The one that was given a row last."""
        self._taken = self._unflushed = self._frozen = 0
        self._changed = asyncio.Event()
        """What is read has to be opened again."""
        self._come, self._is_late = asyncio.Event(), asyncio.Event()
        """A position is to be read too; an app is behind."""
        self._is_lasting = self._is_observed = False
        self._writer = TopicWriter(kafka, wait_ms=WAIT_MS)
        self._reader: TopicReader | None = None

    async def stay(self, beside: Beside | None = None) -> None:
        """Run until this process gets SIGTERM or no app is left; with `beside`, until that ends, and apps may come and
        go."""
        self._is_lasting = self._is_observed = beside is not None
        asked_to_end = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked_to_end.set)
        self._begin_all()
        if not (self.kernels or self._is_lasting):
            return
        await self._writer.open()
        others = [] if beside is None else [beside(self)]
        try:
            with watched(EventWatch(lambda: None if self._last is None else self._last.app)):
                reading = self._follow(), self._keep_catching_up()
                await run_until_first(*reading, self._keep_saving(), asked_to_end.wait(), *others)
                await self._save(self.kernels)
        finally:
            await self._writer.close()

    def begin(self, place: int, placed: PlacedApp) -> None:
        """Run one more app from here on. Raises AppFailedError."""
        position = (placed.source.topic, self.partition)
        figures = None
        if self._is_observed:
            figures = AppFigures(placed.source, self.partition, WrittenMark(placed.folder, self.partition))
        kernel = ResidentKernel(placed, self.partition, None if figures is None else figures.observe)
        self.apps[place], self.kernels[place] = placed, kernel
        readers = self._readers.setdefault(position, PartitionReaders())
        readers.add(place, kernel)
        if figures is not None:
            self.figures[place] = figures
        (self._is_late if readers.late else self._come).set()

    async def leave(self, place: int) -> int | None:
        """End one app and save what it has; return its next offset. None if it does not run."""
        kernel = self.kernels.get(place)
        if kernel is None:
            return None
        # no row is taken any more before what it has is saved
        self._stop_reading(place, kernel)
        await self._save({place: kernel})
        self._leave(place)
        return kernel.next

    def kernel_of(self, place: int) -> ResidentKernel:
        """Raise AppNotYetError if the app does not run here: it comes in a moment, or has left and its host says more
        next time."""
        kernel = self.kernels.get(place)
        if kernel is None:
            raise AppNotYetError("the process of the app is changing; try again in a moment")
        return kernel

    def ask(self, place: int, query: OnDemandQuery) -> Answer:
        """Raise as `kernel_of` and `HostedApp.ask`, after which the app goes on."""
        self._last = kernel = self.kernel_of(place)
        self._notes.begin_question(place)
        try:
            return kernel.app.ask(query)
        finally:
            self._notes.end()

    async def ends(self) -> dict[Position, int]:
        """Return the ends of the topics that are read, as far as they are known: nobody's rows wait for an answer."""
        return {} if self._reader is None else await self._reader.known_ends()

    def _begin_all(self) -> None:
        deadly = self._notes.deadly_row
        if deadly is not None and deadly[0] in self.apps:
            place, offset = deadly
            sentence = f"its process was lost {MOST_LOSSES} times at row {offset} of partition {self.partition}"
            note_end(self.apps[place].folder, f"the app was ended: {sentence}")
        for place, placed in self.apps.items():
            if (placed.source.topic, self.partition) not in placed.first or noted_end(placed.folder) is not None:
                continue
            try:
                self.begin(place, placed)
            except AppFailedError as error:
                note_end(placed.folder, str(error))

    async def _follow(self) -> None:
        """Read until no app is left, if they do not come and go."""
        while self.kernels or self._is_lasting:
            self._changed.clear()
            if not self.kernels:
                await self._come.wait()
                self._come.clear()
                continue
            async with self._reader_from(
                {one: self._first(readers) for one, readers in self._readers.items()}
            ) as reader:
                self._reader = reader
                try:
                    await run_until_first(self._read(reader), self._keep_adding(reader), self._changed.wait())
                finally:
                    self._reader = None

    def _reader_from(self, first: Mapping[Position, int]) -> TopicReader:
        """Return one consumer for all."""
        return TopicReader(self._kafka, tuple({topic: None for topic, _ in first}), first)

    def _first(self, readers: PartitionReaders[ResidentKernel]) -> int:
        first = readers.begin()
        if readers.late:
            self._is_late.set()
        return first

    async def _read(self, reader: TopicReader) -> None:
        async for batch in reader.batches():
            await self._give_all(batch, PartitionReaders.due)
            if not self.kernels:
                return

    async def _keep_adding(self, reader: TopicReader) -> None:
        """Read what else is read by apps that come."""
        while True:
            self._come.clear()
            known = reader.next_offsets
            first = {one: self._first(readers) for one, readers in self._readers.items() if one not in known}
            if first:
                await reader.add(first)
            await self._come.wait()

    async def _keep_catching_up(self) -> None:
        """Give those that are behind their rows, by a reader of their own."""
        while True:
            self._is_late.clear()
            late = {position: readers for position, readers in self._readers.items() if readers.late}
            if not late:
                await self._is_late.wait()
                continue
            async with self._reader_from({one: readers.begin_turn() for one, readers in late.items()}) as reader:
                await run_until_first(self._read_in_turn(reader), self._until_others_wait())

    async def _read_in_turn(self, reader: TopicReader) -> None:
        async for batch in reader.batches():
            await self._give_all(batch, PartitionReaders.due_in_turn)
            found = [readers.is_in_turn() for readers in self._readers.values()]
            if not any(found):
                return

    async def _until_others_wait(self) -> None:
        """Return once apps have come that the turn of those before them is not for."""
        await SystemClock().sleep(TURN_SECONDS)
        await self._is_late.wait()

    async def _give_all(self, batch: Iterable[Record], due: Due) -> None:
        clock, until = SystemClock(), steady_now() + SLICE
        for record in batch:
            readers = self._readers.get(record.position)
            if readers is not None:
                self._give(record, due(readers, record.offset))
            if steady_now() > until:
                # hundreds of rows, each for hundreds of apps, take most of a second
                await clock.sleep(0)
                until = steady_now() + SLICE
            if self._unflushed >= ROWS_BETWEEN_FLUSHES:
                self._unflushed = 0
                await self._writer.flush()

    def _give(self, record: Record, due: list[tuple[int, ResidentKernel]]) -> None:
        """Give a row of the log to these apps."""
        if not due:
            return
        row, notes, read, given = _row(record), self._notes, RowReading(), list[tuple[int, list[AppRow]]]()
        self._taken += 1
        is_timed = self._taken % ROWS_BETWEEN_TIMES == 0
        notes.begin_row(record.offset, len(due))
        for place, kernel in due:
            self._last, began = kernel, steady_now() if is_timed else 0
            notes.begin_app(place)
            try:
                found = kernel.take(record, row, read)
            except (AppFailedError, AppLimitError) as error:
                self._end(place, str(error))
                continue
            if found:
                given.append((place, found))
            figures = self.figures.get(place)
            if figures is not None:
                figures.last_at = record.time
                if is_timed:
                    figures.took(steady_now() - began)
        # no app is to blame for what Kafka does
        notes.end()
        for place, found in given:
            self._write(place, record.offset, found)

    def _write(self, place: int, offset: int, rows: list[AppRow]) -> None:
        """Write what an app gave for the row of its log at the offset."""
        label = self.apps[place].source.label
        for row in rows:
            self._writer.write(APPS, app_message(row), label, self.partition)
        if place in self.figures:
            self.figures[place].gave(offset)
        self._unflushed += len(rows)

    def _end(self, place: int, sentence: str) -> None:
        """End one app; the others go on."""
        note_end(self.apps[place].folder, sentence)
        self._leave(place)

    def _leave(self, place: int) -> None:
        # both loops may find that an app has ended
        kernel = self.kernels.pop(place, None)
        if kernel is not None:
            self._stop_reading(place, kernel)
        figures = self.figures.pop(place, None)
        if figures is not None:
            figures.close()

    def _stop_reading(self, place: int, kernel: ResidentKernel) -> None:
        readers = self._readers.get(kernel.position)
        if readers is not None:
            readers.remove(place)
            if not readers:
                del self._readers[kernel.position]
                self._changed.set()

    async def _keep_saving(self) -> None:
        """Save until no app is left, if they do not come and go."""
        clock, pause = SystemClock(), SNAPSHOT_SECONDS
        while self.kernels or self._is_lasting:
            await clock.sleep(pause)
            for place in [one for one in self.kernels if noted_end(self.apps[one].folder) is not None]:
                # it was ended in another partition
                self._leave(place)
            computed = await self._save(self.kernels)
            pause = min(max(SNAPSHOT_SECONDS, SNAPSHOT_PAUSES * computed / MICROSECONDS), LONGEST_SNAPSHOT_SECONDS)

    async def _save(self, kernels: Mapping[int, ResidentKernel]) -> int:
        """Save what was written first, then the states that are past it. Rows are taken between any two apps. Returns
        how long the snapshots themselves took, microseconds."""
        clock, taken, computed = SystemClock(), list[tuple[int, ResidentKernel, TakenSnapshot]](), 0
        for place, kernel in list(kernels.items()):
            for _ in kernel.written_slices():
                await clock.sleep(0)
            began, snapshot = steady_now(), self._snapshot(place, kernel)
            if snapshot is not None:
                taken.append((place, kernel, snapshot))
            computed += steady_now() - began
            await clock.sleep(0)
        self._spare_collector()
        if taken:
            await self._writer.flush()
        for place, kernel, snapshot in taken:
            if self.kernels.get(place) is not kernel:
                # it ended or left meanwhile, and left with a newer one
                continue
            began = steady_now()
            kernel.keep(snapshot)
            if place in self.figures:
                self.figures[place].saved(snapshot.size)
            computed += steady_now() - began
            await clock.sleep(0)
        return computed

    def _spare_collector(self) -> None:
        """Let Python's search for rings of objects pass by what is here now, once many keys have come: a look at a
        million takes a third of a second, in which no row is taken. What is no longer used goes all the same, but for
        rings that are garbage by then."""
        keys = sum(kernel.key_count for kernel in self.kernels.values())
        if keys > KEYS_BETWEEN_FREEZES + 2 * self._frozen:
            self._frozen = keys
            gc.freeze()

    def _snapshot(self, place: int, kernel: ResidentKernel) -> TakenSnapshot | None:
        """None if there is nothing new, or the app has ended."""
        if kernel.is_saved or self.kernels.get(place) is not kernel:
            return None
        snapshot = None
        self._notes.begin(place, kernel.next)
        try:
            snapshot = kernel.snapshot()
        except AppFailedError as error:
            self._end(place, str(error))
        self._notes.end()
        return snapshot


def _row(record: Record) -> Mapping[str, Any] | None:
    try:
        return row_of(record.value)
    except WireError:
        return None
