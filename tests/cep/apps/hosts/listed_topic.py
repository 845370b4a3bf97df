"""A Kafka topic in memory, for `ForeignTopic`: rows, what retention deleted of them, and a broker that may be away."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from streams.errors import StreamUnavailableError
from streams.records import Position, Record, Start

BATCH = 3


@dataclass(slots=True)
class ListedTopic:
    """`oldest`: offsets below are gone, by partition. `error`: what every request raises."""

    name: str = "orders"
    partitions: int = 1
    records: list[Record] = field(default_factory=list)
    oldest: dict[int, int] = field(default_factory=dict)
    marks: int = 0
    """Offsets at the end of each partition that no reader gets."""
    error: StreamUnavailableError | None = None
    opened: int = 0
    failed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a request has raised."""
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def write(self, value: bytes, key: str | None = None, partition: int = 0, time: int = 1_000_000) -> None:
        self.records.append(Record(self.name, partition, self.end(partition), key, value, time))
        self._more.set()

    def end(self, partition: int) -> int:
        return sum(one.partition == partition for one in self.records)

    def read(self, start: Start) -> "ListedReader":
        return ListedReader(self, start)

    def fail(self, error: StreamUnavailableError | None) -> None:
        """From here on; None: it answers again."""
        self.error = error
        self.failed.clear()
        self._more.set()

    async def wait(self) -> None:
        self._more.clear()
        await self._more.wait()

    def check(self) -> None:
        if self.error is not None:
            self.failed.set()
            raise self.error


@dataclass(slots=True)
class ListedReader:
    """`cep.apps.hosts.kafka_source.ForeignReader`. `start`: a time, or offsets."""

    topic: ListedTopic
    start: Start
    following: dict[Position, int] = field(default_factory=dict)
    is_closed: bool = False

    async def open(self) -> None:
        self.topic.check()
        self.topic.opened += 1
        for partition in range(self.topic.partitions):
            position = self.topic.name, partition
            self.following[position] = self._first(position)

    def _first(self, position: Position) -> int:
        if isinstance(self.start, Mapping):
            return self.start[position]
        assert isinstance(self.start, int)
        mine = [one for one in self.topic.records if one.partition == position[1]]
        later = [one.offset for one in mine if one.time >= self.start and one.offset >= self._oldest(position[1])]
        return min(later, default=len(mine))

    def _oldest(self, partition: int) -> int:
        return self.topic.oldest.get(partition, 0)

    @property
    def next_offsets(self) -> dict[Position, int]:
        return dict(self.following)

    async def oldest_offsets(self) -> dict[Position, int]:
        self.topic.check()
        return {position: self._oldest(position[1]) for position in self.following}

    async def end_offsets(self) -> dict[Position, int]:
        self.topic.check()
        return {position: self.topic.end(position[1]) + self.topic.marks for position in self.following}

    async def batches(self) -> AsyncIterator[list[Record]]:
        while True:
            self.topic.check()
            for position, offset in self.following.items():
                # as a broker does it with an offset that it does not have
                if offset > self.topic.end(position[1]) + self.topic.marks:
                    self.following[position] = self._oldest(position[1])
            left = [one for one in self.topic.records if one.offset >= self._begin(one)]
            if left:
                batch = left[:BATCH]
                for record in batch:
                    self.following[record.position] = record.offset + 1
                yield batch
            else:
                await self.topic.wait()

    def _begin(self, record: Record) -> int:
        return max(self.following[record.position], self._oldest(record.partition))

    async def close(self) -> None:
        self.is_closed = True
