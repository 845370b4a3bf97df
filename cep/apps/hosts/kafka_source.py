"""A Kafka topic of the user's own as a source of an app's input log: its rows are copied there before the app sees
them, so a replay reads them in the log and asks nobody.

A row of the log names the topic's partition and offset, so a row that is there twice is known, and whoever goes on
begins behind the last one. A row is in the partition of the log that has the base which is its key; one without a key
is in the first. Its time is when it was written, at most the time at which it was read.

A broker that does not answer, a topic that is not there and rows that are none of a stream are reported, and
hold up nobody.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from cep.apps.hosts.call_source import MOST_ROW_BYTES
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.hosts.input_log import REPLAYS, InputPlace, SourceRow
from cep.apps.hosts.kafka_ends import KafkaSource
from runtime.backoff import backoff
from runtime.clock import SystemClock, wall_now
from streams.errors import StreamError, StreamRejectedError
from streams.records import Position, Record, Start
from streams.topics import partition_of

BEHIND_SECONDS = 5.0
"""For so long old rows may fail to come before nobody waits for them: a topic may end with what no reader gets."""
MOST_SHOWN = 500
"""Bytes of a message that cannot be read which are kept with the reason."""
LOOK_SECONDS = 30.0
"""A topic that is silent for so long is asked whether it is there."""


class ForeignReader(Protocol):
    """A topic, such as a `TopicReader`. All may raise StreamError."""

    async def open(self) -> None: ...

    @property
    def next_offsets(self) -> dict[Position, int]: ...

    async def oldest_offsets(self) -> dict[Position, int]: ...

    async def end_offsets(self) -> dict[Position, int]: ...

    def batches(self) -> AsyncIterator[list[Record]]: ...

    async def close(self) -> None: ...


OpenReader = Callable[[Start], ForeignReader]
"""A reader of the topic that begins there; it is not opened yet."""


@dataclass(frozen=True, slots=True)
class ReadTopic:
    """`name`: in the log. `sources`: those of the app that read it. `partition`, of so many `partitions` of the log:
    the one that it is read for."""

    name: str
    sources: tuple[KafkaSource, ...]
    partition: int = 0
    partitions: int = 1

    @property
    def topic(self) -> str:
        return self.name.rpartition("/")[2]


class ForeignTopic:
    """`cep.apps.hosts.input_merger.InputSource`.

    `since`: where a topic begins that has no row in the log, microseconds by the wall's clock. `patience`: in seconds,
    in place of BEHIND_SECONDS and LOOK_SECONDS.
    """

    def __init__(
        self,
        read: ReadTopic,
        place: InputPlace,
        open_reader: OpenReader,
        since: int,
        market_time: Callable[[int], int] = int,
        patience: tuple[float, float] = (BEHIND_SECONDS, LOOK_SECONDS),
    ) -> None:
        self.topic = read.name
        self._read, self._open_reader, self._since, self._market_time = read, open_reader, since, market_time
        self._patience = patience
        self._next = dict(_offsets(read.name, place.next))
        self._ends: Mapping[int, int] = {}
        """The ends of the partitions, when it was opened; none once nobody waits for old rows."""
        self._gone: dict[int, int] = {}
        """Partition → rows that were deleted before they were read."""
        self._reader: ForeignReader | None = None
        self._batches = _nothing()
        self._asked: asyncio.Future[list[Record]] | None = None
        self._delays = backoff()
        self.warnings = CountedWarnings({"topic": read.name})

    @property
    def is_behind(self) -> bool:
        return any(self._next[partition] < end for partition, end in self._ends.items())

    async def open(self) -> None:
        """Try once; if nobody answers, `next` goes on trying."""
        try:
            await self._begin()
        except StreamError as error:
            await self._lose(error)

    async def next(self) -> list[SourceRow]:
        while True:
            was_behind = self.is_behind
            try:
                reader = self._reader or await self._begin()
                batch = await self._batch(reader)
                await self._note_gaps(batch, reader)
            except StreamError as error:
                await self._lose(error)
                if was_behind:
                    return []
                await SystemClock().sleep(next(self._delays))
                continue
            rows = [row for row in map(self._row, batch) if row is not None]
            if rows or was_behind:
                return rows

    async def close(self) -> None:
        asked, self._asked = self._asked, None
        if asked is not None:
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
        reader, self._reader = self._reader, None
        if reader is not None:
            await reader.close()

    async def _begin(self) -> ForeignReader:
        """Goes on behind the last row. Raises StreamError; it is closed then."""
        first = await self._first()
        self._reader = reader = self._open_reader(first)
        await reader.open()
        ends, oldest = await reader.end_offsets(), await reader.oldest_offsets()
        for (topic, partition), end in ends.items():
            if self._next.get(partition, 0) > end:
                raise self._made_again(topic, partition)
        for position, offset in oldest.items():
            self._note_gone(position[1], first[position], offset)
            self._next[position[1]] = max(first[position], offset)
        self._ends = {partition: end for (_, partition), end in ends.items()}
        self._delays, self._batches = backoff(), reader.batches()
        return reader

    def _made_again(self, topic: str, partition: int) -> StreamRejectedError:
        problem = f"topic {topic} was made again: {self._next[partition]} rows of partition {partition} were read"
        advice = "the next session reads it from its beginning, and so does another version of the app"
        return StreamRejectedError(f"{problem}, and it has fewer; {advice}.")

    async def _first(self) -> dict[Position, int]:
        reader = self._open_reader(self._since)
        try:
            await reader.open()
            found = reader.next_offsets
        finally:
            await reader.close()
        return {position: self._next.get(position[1], offset) for position, offset in found.items()}

    async def _lose(self, error: StreamError) -> None:
        """Nobody waits for its old rows from here on."""
        await self.close()
        self._ends = {}
        self.warnings.tell("topic not read", str(error))

    async def _batch(self, reader: ForeignReader) -> list[Record]:
        """Nothing if nothing came for a while. Raises StreamError."""
        if self._asked is None:
            self._asked = asyncio.ensure_future(anext(self._batches))
        behind, silent = self._patience
        await asyncio.wait((self._asked,), timeout=behind if self.is_behind else silent)
        if self._asked.done():
            asked, self._asked = self._asked, None
            return asked.result()
        if self.is_behind:
            self._ends = {}
        else:
            await reader.end_offsets()
        return []

    async def _note_gaps(self, batch: Iterable[Record], reader: ForeignReader) -> None:
        """Offsets that lack are those of rows that retention deleted, of markers or of older values of a key. Raises
        StreamRejectedError, with nothing noted, if an offset was there before."""
        gaps = []
        for record in batch:
            if record.offset < self._next.get(record.partition, 0):
                raise self._made_again(record.topic, record.partition)
        for record in batch:
            following = self._next.get(record.partition, record.offset)
            if record.offset > following:
                gaps.append((record, following))
            self._next[record.partition] = record.offset + 1
        # the rows are here: they are not given up if nobody can say why others are not
        with suppress(StreamError):
            oldest = await reader.oldest_offsets() if gaps else {}
            for record, following in gaps:
                self._note_gone(record.partition, following, min(record.offset, oldest[record.position]))

    def _note_gone(self, partition: int, following: int, oldest: int) -> None:
        if following < oldest:
            self._gone[partition] = gone = self._gone.get(partition, 0) + oldest - following
            reason = f"Kafka has deleted them before they were read: {gone:,} of partition {partition}"
            self.warnings.tell("rows are missing", reason, f"partition {partition}", until=oldest)

    def _row(self, record: Record) -> SourceRow | None:
        mine = 0 if record.key is None else partition_of(record.key, self._read.partitions)
        if mine != self._read.partition:
            return None
        rows: list[tuple[str, tuple[Any, ...]]] = []
        for source in self._read.sources:
            try:
                rows += [(source.stream, values) for values in source.reader.read(record.value, _properties(record))]
            except ValueError as error:
                self._leave_out(record, source.stream, str(error))
                rows += self._kept(record, source, str(error))
        size = len(orjson.dumps(rows)) + len((record.key or "").encode())
        if size > MOST_ROW_BYTES:
            reason = f"too long: {size:,} bytes with its key, and {MOST_ROW_BYTES:,} are allowed"
            self._leave_out(record, self._read.sources[0].stream, reason)
            return None
        now = wall_now()
        # a producer's time may be years ago: an app's clock that began there would fire all triggers since
        time = self._market_time(max(self._since, min(record.time, now)) if record.time >= 0 else now)
        name = f"{self.topic}/{record.partition}"
        return SourceRow(name, record.partition, record.offset, time, rows, record.key) if rows else None

    def _kept(self, record: Record, source: KafkaSource, reason: str) -> list[tuple[str, tuple[Any, ...]]]:
        """Return a message that cannot be read as a row of the stream of errors, if the stream keeps them: its columns
        are null, since nobody knows them; the reason has the beginning of the message."""
        if not source.kept:
            return []
        text = record.value[:MOST_SHOWN].decode(errors="replace")
        place = f"{self.topic}/{record.partition}:{record.offset}"
        row = (*(None,) * source.kept, f"{reason}; the message begins with {text}")
        return [(REPLAYS, (source.stream, place)), (f"!{source.stream}", row)]

    def _leave_out(self, record: Record, stream: str, reason: str) -> None:
        """Leave a record out and count it; what differs in a value alone is of one kind."""
        kind = re.split(r"[:(]", reason, maxsplit=1)[0]
        place = {"partition": record.partition, "offset": record.offset}
        self.warnings.tell("row left out", reason, f"{stream}: {kind}", stream=stream, **place)


def _properties(record: Record) -> Mapping[str, str]:
    """Return what `@attributes` may name of a message beside its content."""
    of_key = {} if record.key is None else {"key": record.key}
    place = {"topic": record.topic, "partition": str(record.partition), "offset": str(record.offset)}
    return {**place, "time": str(record.time // 1_000), **of_key}


def _offsets(name: str, following: Mapping[str, int]) -> Iterable[tuple[int, int]]:
    """By partition, of the topic with this name in the log."""
    for topic, offset in following.items():
        before, mark, partition = topic.rpartition("/")
        if mark and before == name and partition.isdecimal():
            yield int(partition), offset


async def _nothing() -> AsyncIterator[list[Record]]:
    """Before a topic is opened."""
    return
    yield
