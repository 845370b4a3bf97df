"""One client's queue of messages: bounded, and publishing never waits for it."""

import asyncio
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from runtime.clock import wall_now

QUEUED_MESSAGES = 64
FULL_STATE_KINDS = ("ledger", "settings")
"""Each of these replaces the state: of those queued, only the newest is needed."""

MessageKind = Literal["snapshot", "pulse", "assets", "trade", "ledger", "settings"]


@dataclass(frozen=True)
class LiveMessage:
    """Encoded once for all clients. `sequence` grows from message to message, over restarts of the process too."""

    sequence: int
    kind: MessageKind
    text: str

    @cached_property
    def event(self) -> bytes:
        """Return it as a server-sent event; encoded once for all clients, on first use."""
        return f"id: {self.sequence}\nevent: {self.kind}\ndata: {self.text}\n\n".encode()


class SequenceNumbers:
    """Microseconds of wall time, increased if that would repeat one: nothing to remember over a restart."""

    def __init__(self) -> None:
        self.last = wall_now()

    def next(self) -> int:
        self.last = max(self.last + 1, wall_now())
        return self.last


class LiveClient:
    """Messages in order. A client that falls behind loses its queue and gets a snapshot instead, as at its start."""

    def __init__(
        self,
        since: int | None = None,
        limit: int = QUEUED_MESSAGES,
        *,
        base: str | None = None,
        is_page: bool = False,
        trades_alone: bool = False,
    ) -> None:
        """`since`: the sequence of the last message that the client received, also over an earlier connection. `base`:
        the asset that it shows; None: all. `trades_alone`: after the snapshot it gets trades and nothing else."""
        self.since = since
        self.base = base
        self.is_page = is_page
        self.trades_alone = trades_alone
        self.is_owed = False
        """Missed trades could not be read; the next snapshot tries again."""
        self.resynchronisations = 0
        self._limit = limit
        self._queue: deque[LiveMessage] = deque()
        self._filled = asyncio.Event()
        self._filled.set()
        self._needs_snapshot = True

    @property
    def needs_snapshot(self) -> bool:
        return self._needs_snapshot

    @property
    def waiting(self) -> int:
        """Number of queued messages."""
        return len(self._queue)

    def offer(self, message: LiveMessage) -> None:
        """Queue a message that it wants. Never waits. While a snapshot is due, messages that it will cover are not
        queued."""
        if self._needs_snapshot or (self.trades_alone and message.kind != "trade"):
            return
        if self._queue and message.kind in FULL_STATE_KINDS:
            self._queue = deque(queued for queued in self._queue if queued.kind != message.kind)
        if len(self._queue) >= self._limit:
            self.resynchronise()
            self.resynchronisations += 1
            return
        self._queue.append(message)
        self._filled.set()

    def show(self, base: str) -> None:
        """Show the asset `base` from now on: the next message is a snapshot with its markets."""
        if base != self.base:
            self.base = base
            self.resynchronise()

    def resynchronise(self) -> None:
        """Make the next message a snapshot."""
        self._queue.clear()
        self._needs_snapshot = True
        self._filled.set()

    async def wait(self) -> None:
        """Wait until there is a message, or a snapshot is due."""
        await self._filled.wait()

    def begin(self) -> None:
        """Note that a snapshot is being taken: messages offered from here on follow it."""
        self._needs_snapshot = False
        self._filled.clear()

    def take(self) -> LiveMessage:
        """Return the next message, once `wait` has returned and no snapshot is due."""
        message = self._queue.popleft()
        if not self._queue:
            self._filled.clear()
        return message
