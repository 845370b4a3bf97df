"""Follows the versions of the settings, through outages of the store."""

import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

from market.decide.settings import Settings
from runtime.backoff import backoff
from runtime.clock import SystemClock
from store.errors import HistoryLostError, StoreUnavailableError
from store.ports.parts import SettingsStore

log = logging.getLogger("pricefeeds")


async def follow_settings(settings_store: SettingsStore, take: Callable[[Settings], Awaitable[None]]) -> NoReturn:
    """Run for ever: `take` gets the settings in force, then each version as it is stored; after an outage those in
    force again."""
    delays = backoff()
    while True:
        try:
            async for settings in settings_store.watch():
                delays = backoff()
                await take(settings)
        except (StoreUnavailableError, HistoryLostError) as error:
            log.warning("settings changes cannot be read; retrying", extra={"error": str(error)})
        await SystemClock().sleep(next(delays))
