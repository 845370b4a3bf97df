"""The settings bridge: every version of the settings, in order, into the log, and the newest again each second."""

import asyncio
import logging
from collections.abc import Callable

from market.clock import Clock, SystemClock
from market.session import Session
from market.settings import Settings
from store.open import open_store
from store.port import TradeStore
from streams.log import LogWriter
from streams.writer import TopicWriter

REPEAT_SECONDS = 1.0
"""By the wall, also in a replay: a CEP that starts anew must not wait longer for its settings."""

log = logging.getLogger("pricefeeds")


async def run_bridge(session: Session, ready: Callable[[], None]) -> None:
    """Bridge until cancelled; `ready` is called once the settings in force stand in the log.

    Raises StreamError and StoreError: the process ends with it and is started again.
    """
    writer = TopicWriter(session.kafka)
    await writer.open()
    try:
        async with open_store(session) as store:
            bridge = _Bridge(store, LogWriter(writer, session.bases, session.partitions), session.clock())
            async with asyncio.TaskGroup() as group:
                group.create_task(bridge.follow(writer, ready))
                group.create_task(bridge.repeat())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        await writer.close()


class _Bridge:
    def __init__(self, store: TradeStore, rows: LogWriter, clock: Clock) -> None:
        self._store = store
        self._rows = rows
        self._clock = clock
        self._newest: Settings | None = None

    async def follow(self, writer: TopicWriter, ready: Callable[[], None]) -> None:
        async for settings in self._store.watch_settings():
            is_first = self._newest is None
            self._write(settings)
            log.info("settings in the log", extra={"settings_version": settings.version})
            if is_first:
                await writer.flush()
                ready()

    async def repeat(self) -> None:
        while True:
            await SystemClock().sleep(REPEAT_SECONDS)
            if self._newest is not None:
                self._write(self._newest)

    def _write(self, settings: Settings) -> None:
        self._rows.settings(settings, self._clock.now())
        self._newest = settings
