"""Markets on standby: one gets a feed once an operator has added its asset, by a version of the settings."""

import asyncio
import logging
from typing import NoReturn

from market.decide.settings import Settings
from market.instruments.markets import Market
from session.backoff import backoff
from session.clock import SystemClock
from session.session import Session
from store.errors import HistoryLostError, StoreUnavailableError
from store.mongo.mongo_store import open_store

log = logging.getLogger("pricefeeds")


class StandbyAssets:
    """Which assets of the session were added; one that was stays so until the process ends, because what is open in it
    needs prices."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._added = {base: asyncio.Event() for base in session.standby_assets}

    def begins_later(self, market: Market) -> bool:
        """Whether it is fed only once its asset was added."""
        return not market.is_fx and market.base in self._added

    def take(self, settings: Settings) -> None:
        for base in settings.enabled_assets:
            if base in self._added and not self._added[base].is_set():
                log.info("asset added", extra={"base": base, "settings_version": settings.version})
                self._added[base].set()

    async def until_added(self, market: Market) -> None:
        await self._added[market.base].wait()

    async def follow(self) -> NoReturn:
        """Runs for ever, through outages of the store; what was added before goes on being fed."""
        delays = backoff()
        while True:
            try:
                async with await open_store(self._session) as store:
                    async for settings in store.settings.watch():
                        delays = backoff()
                        self.take(settings)
            except (StoreUnavailableError, HistoryLostError) as error:
                log.warning("added assets cannot be read; retrying", extra={"error": str(error)})
            await SystemClock().sleep(next(delays))
