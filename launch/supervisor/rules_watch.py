"""Asks real exchanges every few minutes what our accounts pay and how their markets trade: a change is a version of the
settings, which detection, sizing and orders use at once.

The supervisor does it, because bots may not write settings.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from exchanges.accounts.exchange_rules import AccountRules, account_rules
from exchanges.ccxt.client import session_config
from exchanges.errors import UNEXPECTED, ExchangeError
from market.decide.market_rules import with_account_rules
from market.decide.settings import Settings
from runtime.backoff import backoff
from runtime.clock import SystemClock
from session.session import Session
from store.errors import StoreError
from store.mongo.store import open_store
from store.ports.parts import SettingsStore

log = logging.getLogger(__name__)

RULES_SECONDS = 180.0
"""Fee tiers change once a day and steps with weeks of notice; a market that goes to cancel-only does so at once, and
then rejects orders."""
RETRY_SECONDS, LONGEST_SECONDS = 10.0, 600.0
"""Pauses after an answer that did not come or is not understood, or while the database is not there yet: twice as long
each time, because requests that are refused, for their rate or their keys, only make it worse."""


@dataclass(slots=True)
class RulesWatch:
    """Watches the rules of one exchange."""

    exchange: str
    ask: Callable[[], Awaitable[AccountRules]]

    async def refresh(self, settings: SettingsStore) -> Settings | None:
        """Ask once. Returns the settings in force afterwards. Raises StoreError, ExchangeError."""
        said = await self.ask()
        before = await settings.current()
        after = await settings.amend(
            lambda now: with_account_rules(now, self.exchange, said.taker_rate, said.markets), self.exchange
        )
        if before is not None and after is not None and after.version != before.version:
            log.warning("the exchange changed its terms", extra={"exchange": self.exchange, "version": after.version})
        return after


async def run_rules_watch(session: Session, environment: Mapping[str, str]) -> None:
    """Watch each traded exchange until cancelled; ends at once if they are simulated, because those keep to the
    settings."""
    if session.mode not in ("sandbox", "live"):
        return
    traded = {market.exchange: session_config(session, market.exchange, environment) for market in session.traded}
    async with asyncio.TaskGroup() as tasks:
        for exchange, config in traded.items():
            markets = [market for market in session.traded if market.exchange == exchange]
            watch = RulesWatch(exchange, partial(account_rules, config, markets, environment))
            tasks.create_task(_follow(session, watch))


async def _follow(session: Session, watch: RulesWatch) -> None:
    async def refresh() -> None:
        async with await open_store(session) as store:
            await watch.refresh(store.settings)

    await keep_asking(watch.exchange, refresh, SystemClock().sleep)


async def keep_asking(
    exchange: str, refresh: Callable[[], Awaitable[object]], sleep: Callable[[float], Awaitable[None]]
) -> None:
    """Ask until cancelled; an answer that cannot be used is logged and asked for again later, and delays no other
    exchange."""
    delays = backoff(RETRY_SECONDS, longest=LONGEST_SECONDS)
    while True:
        try:
            await refresh()
        except (StoreError, ExchangeError, *UNEXPECTED) as error:
            # an account that is rejected is its bot's to report
            log.warning("terms not asked: %s", error, extra={"exchange": exchange})
            await sleep(next(delays))
        else:
            delays = backoff(RETRY_SECONDS, longest=LONGEST_SECONDS)
            await sleep(RULES_SECONDS)
