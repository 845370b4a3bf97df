"""Reads topics from a given start; stores no offsets in Kafka or on disk."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

from streams.errors import StreamRejectedError
from streams.partition_consumer import PartitionConsumer
from streams.records import Position, Record, Start
from streams.topic_admin import check_reachable

_Answer = TypeVar("_Answer")


class TopicReader:
    """All partitions of `topics` from `start` on, in the order of each partition; across partitions there is none.

    After an outage of Kafka reading continues after the last row. Rows are prefetched into a bounded buffer and wait
    there for a slow caller. Breaking off `records` and calling it again loses and repeats nothing. Where retention has
    deleted the next rows, reading continues at the oldest one. One task may read at a time.
    """

    def __init__(self, address: str, topics: tuple[str, ...], start: Start, max_wait: float = 0.0) -> None:
        """`max_wait`: seconds that rows may wait to be fetched together, which costs reader and broker far less."""
        self._max_wait = max_wait
        self._address = address
        self._topics = topics
        self._start = start
        self._consumer: PartitionConsumer | None = None
        self._pending_take: asyncio.Future[list[Record]] | None = None
        self._rows: deque[Record] = deque()
        self._next: dict[Position, int] = {}
        # one thread for all calls: the library's consumer must not be closed while another thread polls it
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kafka-reader")

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Fix the start offsets: with "latest", everything written after this returns will be read.

        Raises StreamUnavailableError within seconds, StreamRejectedError if a topic is missing. Opens once.
        """
        if self._consumer is None:
            await check_reachable(self._address)
            self._consumer = await self._in_thread(
                lambda: PartitionConsumer(self._address, self._topics, self._start, self._max_wait)
            )
            self._next = dict(self._consumer.first)

    async def add(self, start: Mapping[Position, int]) -> None:
        """Read these partitions too, from there on; none of them may be read already. The reader is open.

        Raises StreamUnavailableError, StreamRejectedError if a topic is missing.
        """
        await self._in_thread(lambda: self._opened().add(start))
        self._next |= {position: self._opened().first[position] for position in start}

    async def fetch_within(self, max_wait: float) -> None:
        """From now on rows may wait so long to be fetched together; nothing is lost or repeated. The reader is open.

        Raises StreamUnavailableError; reading goes on as before then.
        """

        def exchange() -> None:
            self._consumer = self._opened().continued(max_wait)

        if max_wait != self._max_wait:
            await self._in_thread(exchange)
            self._max_wait = max_wait

    async def records(self) -> AsyncIterator[Record]:
        """Rows one by one, without end; opens the reader if needed."""
        await self.open()
        while True:
            while self._rows:
                yield self._advanced(self._rows.popleft())
            await self._fill()

    async def batches(self) -> AsyncIterator[list[Record]]:
        """Batches of up to some hundred rows, without end; never empty. Cheaper for many rows."""
        await self.open()
        while True:
            if self._rows:
                batch = [self._advanced(record) for record in self._rows]
                self._rows.clear()
                yield batch
            await self._fill()

    async def records_to_end(self) -> AsyncIterator[Record]:
        """Rows up to the end of the topics at the time of the call; `records` continues from there."""
        ends = await self.end_offsets()
        open_ends = {position for position, end in ends.items() if self._next[position] < end}
        later: list[Record] = []
        try:
            while open_ends:
                while open_ends and self._rows:
                    record = self._rows.popleft()
                    if record.offset + 1 >= ends[record.position]:
                        open_ends.discard(record.position)
                    if record.offset < ends[record.position]:
                        yield self._advanced(record)
                    else:
                        later.append(record)
                if open_ends:
                    await self._fill()
        finally:
            self._rows.extendleft(reversed(later))

    async def batches_to_end(self, rows: int) -> AsyncIterator[list[Record]]:
        """As `records_to_end`, in batches of that many; never empty."""
        batch: list[Record] = []
        async for record in self.records_to_end():
            batch.append(record)
            if len(batch) >= rows:
                yield batch
                batch = []
        if batch:
            yield batch

    async def end_offsets(self) -> dict[Position, int]:
        """Return the offset that the next row of each partition will get. Raises StreamUnavailableError."""
        await self.open()
        return await self._in_thread(self._opened().ends)

    async def known_ends(self) -> dict[Position, int]:
        """As `end_offsets`, as far as the last answers with rows said them: Kafka is not asked."""
        await self.open()
        return await self._in_thread(self._opened().known_ends)

    async def oldest_offsets(self) -> dict[Position, int]:
        """Return the offset of the oldest row that each partition still has. Raises StreamUnavailableError."""
        await self.open()
        return await self._in_thread(self._opened().oldest)

    @property
    def next_offsets(self) -> dict[Position, int]:
        """The offset of the next row of each partition; empty before the reader is opened."""
        return dict(self._next)

    async def close(self) -> None:
        """Close the connection (0.2 s at most); reading ends."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await self._in_thread(consumer.close)
        if self._pending_take is not None:
            # whoever waited for it was cancelled
            await asyncio.gather(self._pending_take, return_exceptions=True)
        self._thread.shutdown(wait=False)

    def _advanced(self, record: Record) -> Record:
        self._next[record.position] = record.offset + 1
        return record

    async def _fill(self) -> None:
        """Wait briefly for more rows. A caller that is cancelled here gets them with its next call."""
        if self._pending_take is None:
            self._opened()
            self._pending_take = asyncio.get_running_loop().run_in_executor(self._thread, self._take)
        await asyncio.wait([self._pending_take])
        taken, self._pending_take = self._pending_take, None
        self._rows.extend(taken.result())

    def _take(self) -> list[Record]:
        return self._opened().take()

    def _opened(self) -> PartitionConsumer:
        if self._consumer is None:
            raise StreamRejectedError("this reader is closed.")
        return self._consumer

    async def _in_thread(self, function: Callable[[], _Answer]) -> _Answer:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)
