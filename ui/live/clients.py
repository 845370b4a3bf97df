"""One WebSocket client's queue: bounded, and nobody waits for it."""

import asyncio
from collections import deque

QUEUED_MESSAGES = 64


class LiveClient:
    """Messages in order. A client that falls behind loses them all and gets a snapshot instead, as at its start."""

    def __init__(self, limit: int = QUEUED_MESSAGES) -> None:
        self._limit = limit
        self._queue: deque[str] = deque()
        self._filled = asyncio.Event()
        self._filled.set()
        self._needs_snapshot = True
        self.resynchronisations = 0

    def offer(self, message: str) -> None:
        """Never waits. While a snapshot is due, what it will contain anyway is not queued."""
        if self._needs_snapshot:
            return
        if len(self._queue) >= self._limit:
            self.resynchronise()
            self.resynchronisations += 1
            return
        self._queue.append(message)
        self._filled.set()

    def resynchronise(self) -> None:
        """The next thing the client gets is a snapshot."""
        self._queue.clear()
        self._needs_snapshot = True
        self._filled.set()

    async def next(self) -> str | None:
        """The next message; None where a snapshot, taken now, must be sent in its place."""
        await self._filled.wait()
        if self._needs_snapshot:
            self._needs_snapshot = False
            self._filled.clear()
            return None
        message = self._queue.popleft()
        if not self._queue:
            self._filled.clear()
        return message
