"""Messages that come faster than they are kept: they wait here, and are kept in batches."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from cep.apps.transports.ports import IncomingMessage, Intake

MESSAGES_AT_ONCE = 500
MOST_WAITING = 1_000


@dataclass(slots=True)
class MessageQueue:
    """`on_kept`: called with the mark of the last message of each batch, once the batch is kept."""

    intake: Intake
    on_kept: Callable[[Any], None]
    _waiting: deque[tuple[IncomingMessage, Any]] = field(default_factory=deque)
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_WAITING))

    async def put(self, message: IncomingMessage, mark: Any = None) -> None:
        """Add a message; waits while many are here already."""
        await self._room.acquire()
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
            self.on_kept(batch[-1][1])
            for _ in batch:
                self._room.release()
