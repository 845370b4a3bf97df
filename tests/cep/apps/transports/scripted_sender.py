"""A sender whose other side does what a test says, and notes what it took."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cep.apps.transports.ports import OutgoingRow

Script = Callable[[str, Sequence[OutgoingRow]], None]


def taken_always(destination: str, rows: Sequence[OutgoingRow]) -> None:
    pass


@dataclass(slots=True)
class ScriptedSender:
    """`script`: raises what the other side answers. Rows go to what they have as `to`."""

    script: Script = taken_always
    most_rows: int = 1
    linger_seconds: float = 0.0
    taken: list[tuple[str, int]] = field(default_factory=list)
    """Destination and number of each row that was taken."""
    is_closed: bool = False
    held: asyncio.Event | None = None
    """Answers wait until it is set."""
    asked: int = 0
    most_asked: int = 0
    """Requests that wait for an answer: now, and at most."""

    def destination(self, values: Mapping[str, Any]) -> str:
        return str(values["to"])

    def server(self, destination: str) -> str:
        return destination.partition("/")[0]

    def shown(self, destination: str) -> str:
        return destination

    async def close(self) -> None:
        self.is_closed = True

    async def send(self, destination: str, rows: Sequence[OutgoingRow]) -> None:
        self.asked += 1
        self.most_asked = max(self.most_asked, self.asked)
        if self.held is not None:
            await self.held.wait()
        self.asked -= 1
        self.script(destination, rows)
        self.taken += [(destination, row.values["n"]) for row in rows]
