"""Messages that come faster than they are kept: they wait here, and are kept in batches."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from cep.apps.transports.ports import IncomingMessage, Intake

MESSAGES_AT_ONCE = 500
MOST_WAITING = 1_000
MOST_BYTES = 16 << 20
"""Of all messages that wait, but for a single one that is longer."""


@dataclass(slots=True)
class MessageQueue:
    """`on_kept`: called with the marks of each batch, once the batch is kept."""

    intake: Intake
    on_kept: Callable[[Sequence[Any]], None]
    most_bytes: int = MOST_BYTES
    _waiting: deque[tuple[IncomingMessage, Any]] = field(default_factory=deque)
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _left: asyncio.Event = field(default_factory=asyncio.Event)
    _count: int = 0
    _bytes: int = 0
    """Of messages that are not kept yet, those of the present batch too."""

    async def put(self, message: IncomingMessage, mark: Any = None) -> None:
        """Add a message; waits while too many are here already. One task calls it at a time."""
        size = len(message.body)
        while self._count >= MOST_WAITING or (self._count and self._bytes + size > self.most_bytes):
            self._left.clear()
            await self._left.wait()
        self._count, self._bytes = self._count + 1, self._bytes + size
        self._waiting.append((message, mark))
        self._came.set()

    async def keep(self, read: Coroutine[object, object, None]) -> None:
        """Keep what `read` puts, until it ends. Raises what it raises, after all that came before is kept; StreamError
        of the intake."""
        reading = asyncio.ensure_future(read)
        try:
            while True:
                asked = asyncio.ensure_future(self._came.wait())
                try:
                    await asyncio.wait((asked, reading), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    asked.cancel()
                self._came.clear()
                has_ended = reading.done()
                await self._keep_waiting()
                if has_ended:
                    reading.result()
                    return
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _keep_waiting(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MESSAGES_AT_ONCE))]
            await self.intake.take([message for message, _ in batch])
            self.on_kept([mark for _, mark in batch])
            self._count -= len(batch)
            self._bytes -= sum(len(message.body) for message, _ in batch)
            self._left.set()
