"""Copies rows of an app from the topic `apps`, where they are with their ids, to another topic.

Its progress is kept in a file, which is written once the broker has acknowledged the rows. So after a kill it goes on
there: it repeats rows with equal ids, and loses none. A broker or a topic that is down holds up only this copy.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson

from cep.apps.hosts.counted_warnings import CountedWarnings
from launch.errors import CannotStartError
from launch.setup.data_dir import process_lock, write_atomically
from runtime.backoff import retry_on
from runtime.tasks import run_all
from store.errors import StoreError
from streams.errors import StreamError
from streams.message_format import WireError, row_of
from streams.records import Position, Record
from streams.topic_admin import check_topic
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS

FINISH_SECONDS = 5.0
"""Longest wait for an app's last rows at its end; the next run in the session writes the rest."""
ROWS_BETWEEN_PLACES = 1_000
"""Rows of other apps that may be read again."""

log = logging.getLogger("cep")


@dataclass(frozen=True, slots=True)
class GivenRow:
    """`id`: the one that it had first, if it failed before and is given again. `order`: the row of the app's log that
    caused it, and its place among the app's rows for that; as in its id in the topic. `whole`: as it is there."""

    id: str
    stream: str
    time: int
    order: tuple[int, int]
    values: Mapping[str, Any]
    whole: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """`next`: offset of the next row of the partition of `apps`. `time`, `order`: of the last row that was written."""

    next: int
    time: int = -1
    order: tuple[int, int] = (-1, -1)

    def follows(self, row: GivenRow) -> bool:
        """Return whether the row is a new one. A log that was deleted and made again has lower offsets, and later
        times."""
        return row.order > self.order or row.time > self.time


def given_row(record: Record, app: str, label: str, streams: Iterable[str]) -> GivenRow | None:
    """Return the row; None if it is none of these streams of the app's version with this label."""
    if record.key != label:
        return None
    try:
        row = row_of(record.value)
        # names of apps that differ in marks alone may share a label
        if row["app"] != app or row["stream"] not in streams:
            return None
        name, at, number = str(row["id"]).rsplit(":", 2)
        first_id = str(row.get("replays") or row["id"])
        found = GivenRow(first_id, row["stream"], int(row["time"]), (int(at), int(number)), row["values"], row)
        return found if name and isinstance(found.values, dict) else None
    except (WireError, KeyError, TypeError, ValueError):
        return None


def tell_missing(warnings: CountedWarnings, oldest: Mapping[Position, int], begin: Mapping[Position, int]) -> None:
    """Say which rows Kafka has deleted before they were read. `begin`: where to begin."""
    for (topic, partition), offset in begin.items():
        if oldest[topic, partition] > offset:
            reason = f"Kafka has deleted rows {offset} to {oldest[topic, partition] - 1} of the topic {topic}"
            warnings.tell("rows are missing", reason, f"partition {partition}", partition=partition)


class CopyTarget(Protocol):
    """Where rows go."""

    @property
    def name(self) -> str:
        """Return the sink's name for warnings."""
        ...

    @property
    def address(self) -> str: ...

    @property
    def topic(self) -> str: ...

    def chosen(self, record: Record) -> GivenRow | None:
        """Return the row to write; None if it does not go there."""
        ...

    def write(self, writer: TopicWriter, row: GivenRow, partition: int) -> None:
        """Write the row; `partition`: of the topic `apps`. Raises StreamError; ValueError if its format cannot hold
        it."""
        ...


class RowCopier:
    """`kafka`: the session's. `first`: where the session begins in `apps`, by position. `path`: of the file that says
    how far it has come."""

    def __init__(self, kafka: str, target: CopyTarget, first: Mapping[Position, int], path: Path) -> None:
        self._kafka, self._target, self._path = kafka, target, path
        kept = _kept(self._path)
        self._places = {place: kept.get(place, CopyPlace(offset)) for (_, place), offset in first.items()}
        self._unsaved = 0
        self.warnings = CountedWarnings({"sink": target.name})

    async def follow(self) -> None:
        """Copy until cancelled, through outages of both Kafkas."""
        if not self._path.exists():
            # a later version goes on where this one was killed, so it has to know that it was there
            self._save()
        await retry_on(self._follow, (StreamError,), self._tell)

    async def finish(self) -> None:
        """Copy what was given before now, if its broker takes it in time."""
        try:
            async with asyncio.timeout(FINISH_SECONDS):
                await self.catch_up()
        except (StreamError, TimeoutError):
            log.warning("rows wait: the next run in this session writes them", extra={"sink": self._target.name})

    async def catch_up(self) -> None:
        """Copy what was given before now, until it is acknowledged. Raises StreamError."""
        async with self._opened() as (reader, writer):
            async for batch in reader.batches_to_end(ROWS_BETWEEN_PLACES):
                await self._copy(batch, writer)
            self._save()

    async def _follow(self) -> None:
        async with self._opened() as (reader, writer):
            async for batch in reader.batches():
                await self._copy(batch, writer)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[TopicReader, TopicWriter]]:
        await check_topic(self._target.address, self._target.topic)
        begin = {(APPS, partition): place.next for partition, place in self._places.items()}
        writer = TopicWriter(self._target.address)
        async with TopicReader(self._kafka, (APPS,), begin) as reader:
            tell_missing(self.warnings, await reader.oldest_offsets(), begin)
            try:
                yield reader, writer
            finally:
                await self._close(writer)

    async def _close(self, writer: TopicWriter) -> None:
        try:
            await writer.close()
        except StreamError as error:
            # they are written again, because the file does not say that they are there
            self._tell(error)

    async def _copy(self, batch: Iterable[Record], writer: TopicWriter) -> None:
        """Write the rows, and save the places once they are acknowledged. Raises StreamError."""
        places, written = dict(self._places), 0
        for record in batch:
            place = places[record.partition]
            row = self._target.chosen(record)
            if row is None or not place.follows(row):
                places[record.partition] = CopyPlace(record.offset + 1, place.time, place.order)
                continue
            places[record.partition] = CopyPlace(record.offset + 1, row.time, row.order)
            try:
                self._target.write(writer, row, record.partition)
            except ValueError as error:
                self.warnings.tell("row not written", str(error), row=row.id)
                continue
            written += 1
        if written:
            await writer.flush()
        self._unsaved += sum(places[one].next - self._places[one].next for one in places)
        self._places = places
        if written or self._unsaved >= ROWS_BETWEEN_PLACES:
            self._save()

    def _save(self) -> None:
        kept = {str(one): (place.next, place.time, *place.order) for one, place in self._places.items()}
        write_atomically(self._path, orjson.dumps(kept))
        self._unsaved = 0

    def _tell(self, error: Exception) -> None:
        self.warnings.tell("sink waits", str(error))


class Copier(Protocol):
    """A `RowCopier`, or what copies rows into the error store."""

    async def catch_up(self) -> None:
        """Copy what was given before now. Raises StreamError, StoreError."""
        ...


@dataclass(frozen=True, slots=True)
class FormerRows:
    """What an earlier version of an app gave and nobody has copied yet: it was killed, or a broker was away. `home`: of
    its session. `copiers`: makes what copies its rows from where it was."""

    home: Path
    label: str
    copiers: Callable[[], Iterable[Copier]]

    async def follow_to_end(self) -> None:
        """Copy what is left, through outages. A version that still runs copies its own: what it leaves, once it has
        ended."""
        await retry_on(self._copy, (CannotStartError, StreamError, StoreError), self._tell)

    async def _copy(self) -> None:
        # as long as the version runs, the lock is its own
        with process_lock(self.home, f"app-{self.label}"):
            await run_all(*(one.catch_up() for one in self.copiers()))

    def _tell(self, error: Exception) -> None:
        log.info("rows of an earlier version wait", extra={"app": self.label, "reason": str(error)})


def _kept(path: Path) -> dict[int, CopyPlace]:
    """Return the saved places; none if there is no readable file: rows are then written again, with equal ids."""
    try:
        kept: dict[str, list[int]] = orjson.loads(path.read_bytes())
        return {int(one): CopyPlace(at, time, (order, number)) for one, (at, time, order, number) in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
