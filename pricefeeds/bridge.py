"""The settings bridge: every version of the settings, in order, into the log, and the newest again each second."""

import asyncio
import logging
from collections.abc import Callable

from market.backoff import backoff
from market.clock import Clock, SystemClock
from market.session import Session
from market.settings import Settings
from store.errors import HistoryLostError, StoreUnavailableError
from store.port import TradeStore
from store.trades import open_store
from streams.log import LogWriter
from streams.writer import TopicWriter

REPEAT_SECONDS = 1.0
"""By the wall, also in a replay: a CEP that starts anew must not wait longer for its settings."""

log = logging.getLogger("pricefeeds")

Write = Callable[[Settings, int], None]
"""(settings, received time in microseconds): one row into every partition of the log."""


async def run_bridge(session: Session, ready: Callable[[], None]) -> None:
    """Bridge until cancelled; `ready` is called once the settings in force stand in the log.

    An outage of the store delays new versions while those in force are repeated. Raises StreamError where Kafka is away
    for longer than the writer can buffer, StoreUnavailableError where the store is away at the start: the process ends
    with it and is started again.
    """
    writer = TopicWriter(session.kafka)
    await writer.open()
    try:
        rows = LogWriter(writer, session.bases, session.partitions)
        store = await open_store(session)
        try:
            bridge = SettingsBridge(store, rows.settings, session.clock())
            await _run_tasks(bridge, writer, ready)
        finally:
            await store.close()
    finally:
        await writer.close()


async def _run_tasks(bridge: "SettingsBridge", writer: TopicWriter, ready: Callable[[], None]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(bridge.follow())
            group.create_task(bridge.repeat())
            await bridge.has_begun.wait()
            await writer.flush()
            ready()
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


class SettingsBridge:
    """Writes no version twice but the newest, and none below it."""

    def __init__(self, store: TradeStore, write: Write, clock: Clock) -> None:
        self.has_begun = asyncio.Event()
        """Set once the settings in force were written."""
        self._store = store
        self._write_row = write
        self._clock = clock
        self._newest: Settings | None = None

    async def follow(self) -> None:
        """Write each version as it is made; goes on after outages of the store."""
        delays = backoff()
        while True:
            try:
                async for settings in self._store.watch_settings():
                    delays = backoff()
                    self._take(settings)
            except (StoreUnavailableError, HistoryLostError) as error:
                log.warning("settings not followed", extra={"error": str(error)})
            await SystemClock().sleep(next(delays))

    async def repeat(self) -> None:
        """Write the newest version again each second."""
        while True:
            await SystemClock().sleep(REPEAT_SECONDS)
            if self._newest is not None:
                self._write(self._newest)

    def _take(self, settings: Settings) -> None:
        if self._newest is not None and settings.version <= self._newest.version:
            return
        self._write(settings)
        self._newest = settings
        self.has_begun.set()
        log.info("settings in the log", extra={"settings_version": settings.version})

    def _write(self, settings: Settings) -> None:
        self._write_row(settings, self._clock.now())
