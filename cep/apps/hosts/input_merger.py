"""Writes the input log of an app: follows the topics that it reads, and MongoDB, and writes their rows in one order.

Nothing of its own has to survive: where it goes on is in the last row of each partition. A writer keeps the order of
what it wrote, so what a killed one leaves is the beginning of what it meant to write. Rows of it that Kafka takes only
after the next one has looked are there twice; who reads the log takes them once.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, field
from typing import Protocol

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.input_log import TABLES, InputPlace, SourceRow, input_message, place_in, record_row
from cep.apps.hosts.product_streams import read_streams
from cep.apps.hosts.row_merge import RowMerge
from cep.apps.hosts.shared_rows import SharedReader
from runtime.tasks import run_all
from streams.errors import StreamError
from streams.latest_rows import LatestRows
from streams.message_format import WireError, row_of
from streams.mirrored_rows import UnrepeatedRows
from streams.records import Position, Record
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import SHARED_IN, TICKS, UNORDERED_TOPICS

log = logging.getLogger("cep")

MOST_WAITING = 2_000
"""Rows of one topic that wait in memory for another's, and a batch more."""
LOOK_BACK_ROWS = 5_000
"""Rows of `ticks` before the first one wanted, from which whoever goes on knows the last sequence of each market: far
more than come again after a kill of MirrorMaker."""
ROWS_BETWEEN_FLUSHES = 10_000
"""Of all partitions together: far fewer than the writer's buffer holds."""


class InputSource(Protocol):
    """Rows for one partition of the log, in their order."""

    @property
    def topic(self) -> str: ...

    @property
    def is_behind(self) -> bool:
        """Whether rows that were written before it was opened are still to come."""
        ...

    async def next(self) -> list[SourceRow]:
        """Return the next rows; none if it only learned that it is no longer behind. What is broken off is lost."""
        ...

    async def close(self) -> None: ...


ReadRecord = Callable[[Record], SourceRow | None]
"""What a record of a topic is in the log; None: no row of it."""
OpenSource = Callable[[int, InputPlace], Awaitable[InputSource]]
"""Opens a source for a partition, at that place."""


@dataclass(frozen=True, slots=True)
class LogBegin:
    """Where a version of an app takes over. `offset`: of its first row in its log; `place`: up to where the version
    before had taken what both read, if it has an input log."""

    offset: int
    place: InputPlace = field(default_factory=InputPlace)


@dataclass(frozen=True, slots=True)
class InputMerger:
    """`first`: where the session begins in each topic, by position. `openers`: of what is no topic, by what stands in
    its place. `market_time`: of the wall's, microseconds; another one if `ticks` have times of a recording."""

    source: AppSource
    session_id: str
    kafka: str
    partitions: int
    first: Mapping[Position, int]
    openers: Mapping[str, OpenSource] = field(default_factory=dict)
    market_time: Callable[[int], int] = int
    region: str | None = None
    """The region of the session, if it has any: what comes again in its `ticks` is left out of the log."""
    shared: SharedReader | None = None
    """The reader of other regions' rows, if the app shares any."""
    begin: Mapping[int, "LogBegin"] = field(default_factory=dict)
    """By partition, where this version took over from another."""
    sent: ReadRecord | None = None
    """What a row is that a user sent into a plain stream, if the app takes such rows."""

    async def run(self) -> None:
        """Goes on until it is cancelled. Raises StreamError, StoreError: call it again if the error may pass."""
        places = await self.places()
        # a row behind a lost one would say that the lost one is there
        writer = TopicWriter(self.kafka, is_gapless=True)
        await writer.open()
        try:
            await run_all(*(self._merge(partition, places[partition], writer) for partition in range(self.partitions)))
        finally:
            # the rows that are lost with it are found missing by who goes on; raised here, this would hide the end that
            # somebody asked for
            with suppress(StreamError):
                await writer.close()

    async def places(self) -> dict[int, InputPlace]:
        """Where each partition of the log goes on. Raises StreamError; the log's topic is there."""
        places = dict.fromkeys(range(self.partitions), InputPlace())
        rows = LatestRows(self.kafka, self.source.topic)
        await rows.open()
        try:
            newest = await rows.newest(1)
        finally:
            await rows.close()
        places |= {partition: one.place for partition, one in self.begin.items()}
        return places | {
            record.partition: place_in(record.value, self.session_id)
            for record in newest
            # what is before is of the last time that this version ran
            if record.partition not in self.begin or record.offset >= self.begin[record.partition].offset
        }

    async def _merge(self, partition: int, place: InputPlace, writer: TopicWriter) -> None:
        async with AsyncExitStack() as opened:
            sources = []
            for topic in self.source.sources:
                sources.append(await self._opened(topic, partition, place))
                opened.push_async_callback(sources[-1].close)
            rows, unflushed = await opened.enter_async_context(aclosing(merged(sources))), 0
            async for row in rows:
                place = place.after(row)
                writer.write(self.source.topic, input_message(self.session_id, row, place), row.key, partition)
                unflushed += 1
                if unflushed >= ROWS_BETWEEN_FLUSHES // self.partitions:
                    await writer.flush()
                    unflushed = 0

    async def _opened(self, topic: str, partition: int, place: InputPlace) -> InputSource:
        if topic in self.openers:
            return await self.openers[topic](partition, place)
        # the rows of a topic that has one partition alone belong into each of the log
        position = (topic, 0 if topic in UNORDERED_TOPICS else partition)
        first = place.next.get(topic, self.first[position])
        may_repeat = topic == TICKS and self.region is not None
        look_back = looked_back(first, self.first[position]) if may_repeat else None
        source = TopicSource(self.kafka, position, first, self._reader_of(topic), look_back)
        await source.open()
        return source

    def _reader_of(self, topic: str) -> ReadRecord:
        if topic == SHARED_IN and self.shared is not None:
            return self.shared.row
        if topic == self.source.rows_topic and self.sent is not None:
            return self.sent
        streams, market_time = read_streams(self.source.app), self.market_time
        return lambda record: record_row(record, streams, market_time)


def looked_back(first: int, begin: int) -> int:
    """Return the offset from which on rows are read for one that goes on at `first` in a log that began at `begin`:
    there nothing was known of rows before, and so it is in a replay."""
    return max(begin, first - LOOK_BACK_ROWS)


class TopicSource:
    """A partition of a topic. `look_back`: the offset from which on it is read, if its rows may come again, and what
    came again is left out."""

    def __init__(
        self,
        kafka: str,
        position: Position,
        first: int,
        read: ReadRecord,
        look_back: int | None = None,
    ) -> None:
        self._position, self._read = position, read
        self._reader = TopicReader(kafka, (position[0],), {position: first if look_back is None else look_back})
        self._batches: AsyncIterator[list[Record]] = self._reader.batches()
        self._first, self._end = first, first
        self._fresh = None if look_back is None else FreshRecords(first)

    @property
    def topic(self) -> str:
        return self._position[0]

    @property
    def is_behind(self) -> bool:
        return self._first < self._end

    async def open(self) -> None:
        """Raise StreamError; it is closed then."""
        try:
            self._end = (await self._reader.end_offsets())[self._position]
            oldest = (await self._reader.oldest_offsets())[self._position]
        except StreamError:
            await self._reader.close()
            raise
        if oldest > self._first:
            # what is gone will not come, and nobody may wait for it
            log.warning("rows are gone from the topic: the input log lacks them", extra={"until": oldest})
            self._first = oldest

    async def next(self) -> list[SourceRow]:
        batch = await anext(self._batches)
        self._first = max(self._first, batch[-1].offset + 1)
        if self._fresh is not None:
            batch = self._fresh.of(batch)
        return [row for row in map(self._read, batch) if row is not None]

    async def close(self) -> None:
        await self._reader.close()


class FreshRecords:
    """The records of `ticks` from `first` on that did not come again."""

    def __init__(self, first: int) -> None:
        self._first, self._unrepeated = first, UnrepeatedRows()

    def of(self, batch: Sequence[Record]) -> list[Record]:
        """Return the new records of a partition, each once, in their order."""
        return [record for record in batch if self._is_new(record) and record.offset >= self._first]

    def _is_new(self, record: Record) -> bool:
        try:
            return self._unrepeated.is_new(record.partition, row_of(record.value))
        except WireError:
            return False


async def merged(sources: Sequence[InputSource], most_waiting: int = MOST_WAITING) -> AsyncGenerator[SourceRow]:
    """Their rows in one order, without end; as `RowMerge`. A source is asked for more once few of its rows wait."""
    merge = RowMerge([source.topic for source in sources], leading=TABLES)
    asked: dict[asyncio.Future[list[SourceRow]], InputSource] = {}
    merge.note_present(source.topic for source in sources if not source.is_behind)
    try:
        while True:
            for row in merge.ready():
                yield row
            idle = [source for source in sources if source not in asked.values()]
            wanted = [source for source in idle if merge.waiting(source.topic) < most_waiting]
            asked |= {asyncio.ensure_future(source.next()): source for source in wanted}
            done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            for answer in done:
                source = asked.pop(answer)
                merge.add(source.topic, answer.result())
                if not source.is_behind:
                    merge.note_present((source.topic,))
    finally:
        for answer in asked:
            answer.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
