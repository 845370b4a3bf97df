"""An intake that keeps messages in memory, fails when a test says so, and a place that is kept in memory."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cep.apps.transports.ports import IncomingMessage, TakenMessages
from streams.errors import StreamUnavailableError

LIMIT_SECONDS = 60.0


@dataclass(slots=True)
class KeptRows:
    """`fails`: how many more times it fails. `refused`: bodies that are no row."""

    fails: int = 0
    refused: tuple[bytes, ...] = ()
    messages: list[IncomingMessage] = field(default_factory=list)
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, messages: Sequence[IncomingMessage]) -> TakenMessages:
        if self.fails:
            self.fails -= 1
            raise StreamUnavailableError("Kafka is away.")
        self.messages += [one for one in messages if one.body not in self.refused]
        self._came.set()
        refused = [one for one in messages if one.body in self.refused]
        return TakenMessages(len(messages) - len(refused), tuple(f"{one.body!r} is no row" for one in refused))

    @property
    def bodies(self) -> list[str]:
        return [one.body.decode() for one in self.messages]

    async def until(self, count: int) -> list[str]:
        """Wait until there are so many messages."""
        async with asyncio.timeout(LIMIT_SECONDS):
            while len(self.messages) < count:
                self._came.clear()
                await self._came.wait()
        return self.bodies


@dataclass(slots=True)
class PlaceInMemory:
    """A `SourcePlace`."""

    place: Any = None

    def load(self) -> Any:
        return self.place

    def save(self, place: Any) -> None:
        self.place = place
