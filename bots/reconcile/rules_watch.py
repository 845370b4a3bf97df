"""Asks the exchange every few minutes what our account pays and how its markets trade: a change is a version of the
settings, which detection, sizing and orders use at once."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from exchanges.orders.exchange_rules import AccountRules
from market.decide.market_rules import with_account_rules
from market.decide.settings import Settings
from session.clock import SystemClock
from store.store_port import TradeStore

log = logging.getLogger(__name__)

RULES_SECONDS = 180.0
"""Fee tiers change once a day and steps with weeks of notice; a market that goes to cancel-only does so at once, and
then rejects what is sent."""


@dataclass(slots=True)
class RulesWatch:
    """Of one exchange; `run` is a background task of its bot loop."""

    exchange: str
    store: TradeStore
    ask: Callable[[], Awaitable[AccountRules]]

    async def run(self) -> None:
        """Runs until cancelled. Raises StoreUnavailableError, ExchangeError: run it again."""
        while True:
            await self.refresh()
            await SystemClock().sleep(RULES_SECONDS)

    async def refresh(self) -> Settings | None:
        """Ask once; the settings in force afterwards. Raises StoreUnavailableError, ExchangeError."""
        said = await self.ask()

        def amended(current: Settings) -> Settings:
            return with_account_rules(current, self.exchange, said.taker_rate, said.markets)

        before = await self.store.settings.current()
        after = await self.store.settings.amend(amended, self.exchange)
        if before is not None and after is not None and amended(before) is not before:
            log.warning(
                "the exchange changed its terms",
                extra={"exchange": self.exchange, "version": after.version, "taker_rate": str(said.taker_rate)},
            )
        return after
