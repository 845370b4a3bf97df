"""While the exchange rejects the account, the bot reserves and sends nothing and checks the account at intervals.

Bans end and permissions are restored, so a rejected account never ends the process.
"""

import asyncio
import logging
from collections.abc import Callable

from bots.decide.state_cache import StateCache
from bots.exchange_health import ExchangeHealthWatch
from bots.retry import BackgroundTask
from exchanges.errors import AccountRejectedError, ExchangeUnavailableError
from exchanges.ports.account import TradingAccount
from market.time_units import MICROSECONDS
from runtime.backoff import backoff
from runtime.clock import SystemClock, steady_now

FIRST_SECONDS = 1.0
MAX_SECONDS = 10.0
"""Longest interval between two checks or two recorded rejections; shorter than the pause that a rejected account gives
its exchange (`market.decide.circuit_breaker`)."""
ORDER_SECONDS = 15.0
ORDER_MAX_SECONDS = 3_600.0
"""How long the first check waits after a rejected order; doubled each time this soon happens again. A key that may read
but not trade passes every check and is rejected with the next order."""

log = logging.getLogger(__name__)


class AccountLockout:
    """Whether the exchange rejects this bot's account, and when the account is checked next."""

    def __init__(
        self,
        account: TradingAccount,
        health: ExchangeHealthWatch,
        cache: StateCache,
        steady_clock: Callable[[], int] = steady_now,
    ) -> None:
        self._account = account
        self._health = health
        self._cache = cache
        self._steady_clock = steady_clock
        self._locked = asyncio.Event()
        self._check_at = 0
        self._order_seconds = ORDER_SECONDS
        """Wait after the next rejected order."""
        self._trusted_at = 0
        """Steady time from which a rejected order counts as the first again."""

    @property
    def is_on(self) -> bool:
        return self._cache.is_locked_out

    @property
    def may_check(self) -> bool:
        return self._steady_clock() >= self._check_at

    def lock(self, error: AccountRejectedError, *, of_an_order: bool = False) -> None:
        """Record that the exchange rejects the account, for the first time or still."""
        self._health.record_failure("account_rejected", self._account.exchange)
        if not self.is_on:
            log.error("account rejected, trading paused: %s", error, extra={"exchange": self._account.exchange})
            if of_an_order:
                self._postpone_check()
        self._cache.is_locked_out = True
        self._locked.set()

    async def run(self) -> None:
        """Run until cancelled: after each rejection, check the account at intervals until it is accepted."""
        while True:
            await self._locked.wait()
            waits = backoff(FIRST_SECONDS, longest=MAX_SECONDS)
            while self.is_on:
                await SystemClock().sleep(next(waits))
                if self.may_check:
                    await self.check()
                else:
                    self._health.record_failure("account_rejected", self._account.exchange)
            self._locked.clear()

    async def check(self) -> None:
        """Check the account once. Without an answer it stays locked."""
        try:
            await self._account.balances()
        except AccountRejectedError as error:
            self.lock(error)
        except ExchangeUnavailableError as error:
            log.warning(
                "account check failed, trading stays paused: %s", error, extra={"exchange": self._account.exchange}
            )
        else:
            self._cache.is_locked_out = False
            log.warning("account accepted again, trading resumed", extra={"exchange": self._account.exchange})

    async def guard(self, task: BackgroundTask, *, of_an_order: bool = False) -> None:
        """Run `task`; a rejected account locks the bot and is raised as ExchangeUnavailableError."""
        try:
            await task()
        except AccountRejectedError as error:
            self.lock(error, of_an_order=of_an_order)
            raise ExchangeUnavailableError(str(error)) from error

    def _postpone_check(self) -> None:
        now = self._steady_clock()
        if now >= self._trusted_at:
            self._order_seconds = ORDER_SECONDS
        wait = round(self._order_seconds * MICROSECONDS)
        self._check_at, self._trusted_at = now + wait, now + 3 * wait
        self._order_seconds = min(2 * self._order_seconds, ORDER_MAX_SECONDS)
