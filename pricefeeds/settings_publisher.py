"""The settings publisher: writes every version of the settings to the log, in order, and repeats the newest each
second."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable

from market.decide.settings import Settings
from pricefeeds.feed.followed_settings import follow_settings
from pricefeeds.feed.startup_retry import retry_until_available
from runtime.clock import Clock, SystemClock
from runtime.tasks import run_all
from session.session import Session
from store.mongo.store import open_store
from store.ports.parts import SettingsStore
from store.queries.trade_reader import TradeReader, open_reader
from streams.last_sequences import newest_settings_rows
from streams.message_format import row_of
from streams.records import Record
from streams.tick_writer import TickWriter
from streams.topic_writer import TopicWriter

REPEAT_SECONDS = 1.0
"""Wall-clock seconds, also in a replay: a restarted CEP must not wait longer for its settings."""

PAGE_ROWS = 100

log = logging.getLogger("pricefeeds")

Write = Callable[[Settings, int], None]
"""(settings, received time in microseconds): writes one row to every partition of the log."""
VersionsBetween = Callable[[int, int], Awaitable[list[Settings]]]
"""(after, before): the versions between the two, oldest first."""


async def run_settings_publisher(session: Session, ready: Callable[[], None]) -> None:
    """Publish until cancelled; `ready` is called once the settings in force are in the log.

    During an outage of the store the settings in force are repeated and new versions wait. At the start both services
    are waited for. Raises StreamError if Kafka is unavailable for longer than the writer can buffer: the process
    ends with it and is restarted.
    """
    written = last_version(await retry_until_available(lambda: newest_settings_rows(session.services.kafka)))
    writer = TopicWriter(session.services.kafka)
    await retry_until_available(writer.open)
    try:
        rows = TickWriter(writer, session.bases, session.services.partitions)
        async with (
            await retry_until_available(lambda: open_store(session)) as store,
            contextlib.AsyncExitStack() as stack,
        ):
            reader = await open_reader(session)
            stack.push_async_callback(reader.close)
            publisher = SettingsPublisher(
                store.settings, StoredSettings(reader).between, rows.settings, session.clock(), written
            )
            await _run_tasks(publisher, writer, ready)
    finally:
        await writer.close()


async def _run_tasks(publisher: "SettingsPublisher", writer: TopicWriter, ready: Callable[[], None]) -> None:
    async def report_ready() -> None:
        await publisher.has_begun.wait()
        await writer.flush()
        ready()

    await run_all(publisher.follow(), publisher.repeat(), report_ready())


class StoredSettings:
    """The settings history in the store."""

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
    """Skips no version. Repeats only the newest one, and those that some partition of the log lacks.

    Resumes from the log itself: `written` is the last version in it, None if it has none.
    """

    def __init__(
        self,
        store: SettingsStore,
        versions_between: VersionsBetween,
        write: Write,
        clock: Clock,
        written: int | None = None,
    ) -> None:
        self.has_begun = asyncio.Event()
        """Set once the settings in force have been written."""
        self._store = store
        self._versions_between = versions_between
        self._write_row = write
        self._clock = clock
        self._written = written
        self._newest: Settings | None = None

    async def follow(self) -> None:
        """Write each version as it is stored; continues after outages of the store."""
        await follow_settings(self._store, self._take)

    async def repeat(self) -> None:
        """Write the newest version again each second."""
        while True:
            await SystemClock().sleep(REPEAT_SECONDS)
            if self._newest is not None:
                self._write(self._newest)

    async def _take(self, settings: Settings) -> None:
        """Write `settings` and the versions missed before it. The first one is always written, even if the log has
        it or a later version of a lost store: it is the one in force."""
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
            log.info("settings published", extra={"settings_version": settings.version})
        self._newest, self._written = settings, settings.version


def last_version(records: Iterable[Record]) -> int | None:
    """Return the newest version that every partition has, from settings rows in partition order; None for no rows."""
    newest = {record.partition: int(row_of(record.value)["settings_version"]) for record in records}
    # a killed process may have written to some partitions only
    return min(newest.values(), default=None)
