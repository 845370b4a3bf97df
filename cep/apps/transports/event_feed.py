"""Rows that others listen to as server-sent events (HTML Standard, 9.2) or by WebSocket: each listener reads at his own
pace.

The newest rows are kept in memory. Who was away for a moment says the last id that he had, and goes on behind it; one
that is too slow, or was away for too long, misses what is gone. A WebSocket has no ids: who was away misses what came.
Nobody holds up a row, or another listener.
"""

import asyncio
import re
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from cep.apps.ends.sink_ends import EventsTarget
from cep.apps.formats.row_formats import RowWriter
from cep.apps.transports.ports import OutgoingRow, RowsRefusedError

MOST_KEPT = 1_000
MOST_KEPT_BYTES = 4 << 20
MOST_LISTENERS = 64
"""Of one feed."""
AT_ONCE = 100
HEARTBEAT_SECONDS = 15.0
"""Between comments while no row comes, by which both sides know that the other is there."""
STALLED_SECONDS = 30.0
"""A listener that takes nothing for so long is cut off: his place may be another's."""
HEARTBEAT = b": still here\n\n"
MISSED = b": rows are missing\n\n"
_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(slots=True)
class EventFeed:
    """What a sink gives to all listeners of its path. `is_socket`: by WebSocket."""

    is_socket: bool = False
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    stalled_seconds: float = STALLED_SECONDS
    listeners: int = 0
    is_open: bool = True
    _kept: deque[tuple[str, bytes]] = field(default_factory=deque)
    """Id and event of each row."""
    _bytes: int = 0
    _next: int = 0
    """The number of the next row; that of the oldest is so many before it as are kept."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def publish(self, name: str, message: bytes) -> None:
        """Give a row to whoever listens. `name`: its id."""
        event = message if self.is_socket else _event(name, message)
        self._kept.append((name, event))
        self._bytes, self._next = self._bytes + len(event), self._next + 1
        while len(self._kept) > MOST_KEPT or (len(self._kept) > 1 and self._bytes > MOST_KEPT_BYTES):
            self._bytes -= len(self._kept.popleft()[1])
        self._wake()

    def open(self) -> None:
        self.is_open = True

    def close(self) -> None:
        """End all listeners, each behind the rows that there are."""
        self.is_open = False
        self._wake()

    async def events(self, after: str) -> AsyncGenerator[bytes]:
        """Yield what a listener is sent, who had `after` last: rows from now on if that is empty, all that is kept if
        it is not known. Ends for one who is so slow that rows are gone, and for all once the feed is closed."""
        number, is_known = self._behind(after)
        if not is_known:
            yield MISSED
        async with aclosing(self._batches(number)) as found:
            async for batch in found:
                yield b"".join(batch) if batch else HEARTBEAT

    async def messages(self) -> AsyncGenerator[bytes]:
        """Yield each row from now on. Ends as `events`."""
        async with aclosing(self._batches(self._next)) as found:
            async for batch in found:
                for message in batch:
                    yield message

    async def _batches(self, number: int) -> AsyncGenerator[list[bytes]]:
        """Yield rows from this number on; none while no row comes."""
        while number >= self._oldest:
            if number < self._next:
                found = islice(self._kept, number - self._oldest, number - self._oldest + AT_ONCE)
                batch = [event for _, event in found]
                number += len(batch)
                yield batch
                continue
            if not self.is_open:
                return
            changed = self._changed
            try:
                async with asyncio.timeout(self.heartbeat_seconds):
                    await changed.wait()
            except TimeoutError:
                yield []

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def _oldest(self) -> int:
        return self._next - len(self._kept)

    def _behind(self, name: str) -> tuple[int, bool]:
        """Return the number of the row behind the one with this id, and whether it is known."""
        if not name:
            return self._next, True
        for place, (known, _) in enumerate(reversed(self._kept)):
            if known == name:
                return self._next - place, True
        return self._oldest, False


class EventSender:
    """A `SinkSender` into a feed, which takes each row at once."""

    most_rows = AT_ONCE
    linger_seconds = 0.0

    def __init__(self, target: EventsTarget, writer: RowWriter, feed: EventFeed) -> None:
        self._target, self._writer, self._feed = target, writer, feed

    def destination(self, values: Mapping[str, Any]) -> str:
        return self._target.path

    def server(self, destination: str) -> str:
        return destination

    def shown(self, destination: str) -> str:
        return "listeners"

    async def close(self) -> None:
        """Do nothing: who listens stays until the feed is closed."""

    async def send(self, destination: str, rows: Sequence[OutgoingRow]) -> None:
        refused = dict[str, str]()
        for row in rows:
            try:
                self._feed.publish(row.id, self._writer.write(row.values))
            except ValueError as error:
                refused[row.id] = str(error)
        if refused:
            raise RowsRefusedError(next(iter(refused.values())), refused)


def _event(name: str, message: bytes) -> bytes:
    lines = _NEWLINE.split(message.decode(errors="replace"))
    data = "".join(f"data: {line}\n" for line in lines)
    return f"id: {name}\n{data}\n".encode()
