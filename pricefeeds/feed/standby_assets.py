"""Markets on standby: one gets a feed once an operator has added its asset, by a version of the settings."""

import asyncio
import logging
from typing import NoReturn

from market.decide.settings import Settings
from market.instruments.markets import Market
from pricefeeds.feed.followed_settings import follow_settings
from pricefeeds.feed.startup_retry import retry_until_available
from session.session import Session
from store.mongo.store import open_store

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

    async def _take(self, settings: Settings) -> None:
        for base in settings.enabled_assets:
            if base in self._added and not self._added[base].is_set():
                log.info("asset added", extra={"base": base, "settings_version": settings.version})
                self._added[base].set()

    async def until_added(self, market: Market) -> None:
        await self._added[market.base].wait()

    async def follow(self) -> NoReturn:
        """Run for ever, through outages of the store; what was added before goes on being fed."""
        async with await retry_until_available(lambda: open_store(self._session)) as store:
            await follow_settings(store.settings, self._take)
