"""Reads the newest rows of topics on request; in between nothing is fetched."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from streams.errors import StreamRejectedError
from streams.partition_consumer import PartitionConsumer
from streams.records import Position, Record
from streams.topic_admin import check_reachable

_Answer = TypeVar("_Answer")


class LatestRows:
    """The newest rows of topics, for readers that need a few of them every few seconds: reading all rows would cost
    far more.
    """

    def __init__(self, address: str, *topics: str) -> None:
        self._address = address
        self._topics = topics
        self._consumer: PartitionConsumer | None = None
        # one thread for all calls: the library's consumer must not be closed while another thread polls it
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kafka-latest")

    async def open(self) -> None:
        """Raise StreamUnavailableError within seconds, StreamRejectedError if the topic is missing. Opens once."""
        if self._consumer is None:
            await check_reachable(self._address)
            self._consumer = await self._in_thread(self._paused_consumer)

    async def newest(self, rows: int) -> list[Record]:
        """At most `rows` of the newest rows of each partition, in its order.

        Raises StreamUnavailableError.
        """
        if self._consumer is None:
            raise StreamRejectedError("this reader is closed.")
        consumer = self._consumer
        return await self._in_thread(lambda: consumer.newest(rows))

    async def ends(self) -> dict[Position, int]:
        """Return the offset that the next row of each partition will get. Raises StreamUnavailableError."""
        if self._consumer is None:
            raise StreamRejectedError("this reader is closed.")
        return await self._in_thread(self._consumer.ends)

    async def close(self) -> None:
        """Close the connection."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await self._in_thread(consumer.close)
        self._thread.shutdown(wait=False)

    def _paused_consumer(self) -> PartitionConsumer:
        consumer = PartitionConsumer(self._address, self._topics, "latest")
        consumer.pause()
        return consumer

    async def _in_thread(self, function: Callable[[], _Answer]) -> _Answer:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)
