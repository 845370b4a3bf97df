"""The settings publisher: every version of the settings, in order, into the log, and the newest again each second."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable

from market.decide.settings import Settings
from pricefeeds.feed.startup_retry import answered
from session.backoff import backoff
from session.clock import Clock, SystemClock
from session.session import Session
from session.tasks import run_all
from store.errors import HistoryLostError, StoreUnavailableError
from store.mongo.mongo_store import open_store
from store.queries.trade_reader import TradeReader, open_reader
from store.store_port import TradeStore
from streams.last_sequences import newest_settings_rows
from streams.message_format import row_of
from streams.records import Record
from streams.tick_writer import TickWriter
from streams.topic_writer import TopicWriter

REPEAT_SECONDS = 1.0
"""By the wall, also in a replay: a CEP that starts anew must not wait longer for its settings."""

PAGE_ROWS = 100

log = logging.getLogger("pricefeeds")

Write = Callable[[Settings, int], None]
"""(settings, received time in microseconds): one row into every partition of the log."""
VersionsBetween = Callable[[int, int], Awaitable[list[Settings]]]
"""(after, before): the versions in between, oldest first."""


async def run_bridge(session: Session, ready: Callable[[], None]) -> None:
    """Bridge until cancelled; `ready` is called once the settings in force stand in the log.

    An outage of the store delays new versions while those in force are repeated; at the start both services are waited
    for. Raises StreamError where Kafka is away for longer than the writer can buffer: the process ends with it and is
    started again.
    """
    written = last_version(await answered(lambda: newest_settings_rows(session.kafka)))
    writer = TopicWriter(session.kafka)
    await answered(writer.open)
    try:
        rows = TickWriter(writer, session.bases, session.partitions)
        async with await answered(lambda: open_store(session)) as store, contextlib.AsyncExitStack() as stack:
            reader = await open_reader(session)
            stack.push_async_callback(reader.close)
            publisher = SettingsPublisher(
                store, StoredSettings(reader).between, rows.settings, session.clock(), written
            )
            await _run_tasks(publisher, writer, ready)
    finally:
        await writer.close()


async def _run_tasks(publisher: "SettingsPublisher", writer: TopicWriter, ready: Callable[[], None]) -> None:
    async def tell() -> None:
        await publisher.has_begun.wait()
        await writer.flush()
        ready()

    await run_all(publisher.follow(), publisher.repeat(), tell())


class StoredSettings:
    """Versions that the store has kept."""

    def __init__(self, reader: TradeReader) -> None:
        self._reader = reader

    async def between(self, after: int, before: int) -> list[Settings]:
        """Versions above `after` and below `before`, oldest first. Raises StoreUnavailableError."""
        found: list[Settings] = []
        cursor: str | None = None
        while True:
            page = await self._reader.settings_history(cursor, PAGE_ROWS)
            found += [item.after for item in page.items if after < item.version < before]
            cursor = page.next_cursor
            if cursor is None or page.items[-1].version <= after:
                return sorted(found, key=lambda settings: settings.version)


class SettingsPublisher:
    """Skips no version, and writes none twice but the newest and those that some partition of the log lacks.

    The log itself is the token to resume from: `written` is the last version in it, None where it has none.
    """

    def __init__(
        self,
        store: TradeStore,
        versions_between: VersionsBetween,
        write: Write,
        clock: Clock,
        written: int | None = None,
    ) -> None:
        self.has_begun = asyncio.Event()
        """Set once the settings in force were written."""
        self._store = store
        self._versions_between = versions_between
        self._write_row = write
        self._clock = clock
        self._written = written
        self._newest: Settings | None = None

    async def follow(self) -> None:
        """Write each version as it is made; goes on after outages of the store."""
        delays = backoff()
        while True:
            try:
                async for settings in self._store.watch_settings():
                    delays = backoff()
                    await self._take(settings)
            except (StoreUnavailableError, HistoryLostError) as error:
                log.warning("settings not followed", extra={"error": str(error)})
            await SystemClock().sleep(next(delays))

    async def repeat(self) -> None:
        """Write the newest version again each second."""
        while True:
            await SystemClock().sleep(REPEAT_SECONDS)
            if self._newest is not None:
                self._write(self._newest)

    async def _take(self, settings: Settings) -> None:
        """Write it and what was missed before it; at the start also where the log has it already, or a later one of a
        store that is gone: it is what is in force."""
        if self._newest is not None and settings.version <= self._newest.version:
            return
        if self._written is not None and settings.version > self._written + 1:
            for missed in await self._versions_between(self._written, settings.version):
                self._write(missed)
        self._write(settings)
        self.has_begun.set()

    def _write(self, settings: Settings) -> None:
        self._write_row(settings, self._clock.now())
        if self._newest is None or self._newest.version != settings.version:
            log.info("settings in the log", extra={"settings_version": settings.version})
        self._newest, self._written = settings, settings.version


def last_version(records: Iterable[Record]) -> int | None:
    """The newest version that no partition is behind, of settings rows in each partition's order; None of no rows."""
    newest = {record.partition: int(row_of(record.value)["settings_version"]) for record in records}
    # a process that was killed may have written to some partitions only
    return min(newest.values(), default=None)
