"""Rows of an app's sources on their way in: a message is read, and its rows are written to the app's topic of rows
(`launch.apps.sent_rows`), from which they come into its input log."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from cep.apps.ends.source_ends import ReceivedSource
from cep.apps.hosts.call_source import MOST_ROW_BYTES
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.transports.ports import IncomingMessage, Receiver, TakenMessages, TransportError
from launch.apps.sent_rows import sent_message
from runtime.backoff import backoff
from runtime.clock import SystemClock, wall_now
from streams.errors import StreamError
from streams.topic_writer import TopicWriter

LONGEST_SECONDS = 30.0

KeepRefused = Callable[[str, Sequence[tuple[IncomingMessage, str]]], Awaitable[None]]
"""Keeps messages that are no rows of a stream, each with the reason. Raises StreamError: give them again."""


@dataclass(slots=True)
class RowsWriter:
    """Writes rows into an app's topic. `created_at`: when the stored app was (`sent_message`)."""

    kafka: str
    topic: str
    app: str
    created_at: int
    _writer: TopicWriter | None = None

    async def write(self, rows: Sequence[bytes]) -> None:
        """Return once Kafka has them. Raises StreamError."""
        writer = self._writer = self._writer or TopicWriter(self.kafka)
        try:
            for row in rows:
                # in the first partition, as what has no key
                writer.write(self.topic, row, self.app, 0)
            await writer.flush()
        except StreamError:
            # it takes no more rows once it has lost one, and those that it still has come again
            await self.close()
            raise

    async def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            # what is not acknowledged comes again
            with suppress(StreamError):
                await writer.close()


@dataclass(slots=True)
class AppSourceIntake:
    """An `Intake` of one source; runs its receiver."""

    source: ReceivedSource
    name: str
    receiver: Receiver
    writer: RowsWriter
    keep_refused: KeepRefused
    warnings: CountedWarnings
    first_seconds: float = 0.5
    messages: int = 0
    rows: int = 0
    rejected: int = 0
    newest: int = 0
    """When the last row was kept, microseconds UTC."""
    reason: str = ""
    """Why nothing comes; empty while it is received."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def take(self, messages: Sequence[IncomingMessage]) -> TakenMessages:
        written: list[bytes] = []
        refused: list[tuple[IncomingMessage, str]] = []
        for message in messages:
            try:
                written += self._rows(message)
            except ValueError as error:
                refused.append((message, str(error)))
        # first: a message that is kept twice is one in the store, a row that is written twice is two
        await self._refuse(refused)
        if written:
            # one after the other: rows of a source keep their order
            async with self._lock:
                await self.writer.write(written)
            self.newest = wall_now()
        self.messages, self.rows, self.reason = self.messages + len(messages), self.rows + len(written), ""
        return TakenMessages(len(written), tuple(reason for _, reason in refused))

    async def follow(self) -> None:
        """Receive until cancelled, through outages."""
        delays = backoff(self.first_seconds, longest=LONGEST_SECONDS)
        while True:
            before = self.messages
            try:
                await self.receiver.run(self)
            except (TransportError, StreamError) as error:
                self.reason = str(error)
                self.warnings.tell("source waits", self.reason, source=self.name)
            if self.messages > before:
                delays = backoff(self.first_seconds, longest=LONGEST_SECONDS)
            await SystemClock().sleep(next(delays))

    def figures(self) -> Mapping[str, Any]:
        """Return what the app's status says of the source."""
        return {
            "source": self.name,
            "messages": self.messages,
            "rows": self.rows,
            "rejected": self.rejected,
            "newest_ms": self.newest // 1_000,
            "reason": self.reason,
        }

    def _rows(self, message: IncomingMessage) -> list[bytes]:
        """Raise ValueError if the message is none of the stream's."""
        names = [name for name, _ in self.source.columns]
        found = [
            sent_message(self.writer.created_at, self.source.stream, dict(zip(names, values, strict=True)))
            for values in self.source.reader.read(message.body, message.properties)
        ]
        longest = max(map(len, found), default=0)
        if longest > MOST_ROW_BYTES:
            raise ValueError(f"a row has {longest:,} bytes, and {MOST_ROW_BYTES:,} are allowed")
        return found

    async def _refuse(self, refused: Sequence[tuple[IncomingMessage, str]]) -> None:
        if not refused:
            return
        await self.keep_refused(self.source.stream, refused)
        self.rejected += len(refused)
        for _, reason in refused:
            self.warnings.tell("message left out", reason, source=self.name)
