"""What a bot does while its exchange rejects the account: it begins nothing, sends nothing, and asks now and then.

A ban ends, a key is given its permission back: no word of an exchange ends the process.
"""

import asyncio
import logging
from collections.abc import Callable

from bots.decide.state_cache import StateCache
from bots.exchange_health import ExchangeHealthWatch
from bots.retry import BackgroundTask
from exchanges.account_port import TradingAccount
from exchanges.errors import AccountRejectedError, ExchangeUnavailableError
from market.time_units import MICROSECONDS
from session.backoff import backoff
from session.clock import SystemClock, steady_now

FIRST_SECONDS = 1.0
MAX_SECONDS = 10.0
"""Between two questions, or two words that it is still so; shorter than a rejected account pauses its exchange for
(`market.decide.circuit_breaker`)."""
ORDER_SECONDS = 15.0
ORDER_MAX_SECONDS = 3_600.0
"""How long nothing is asked once an order was rejected, twice as long each time that it comes again soon: a key that
reads but may not trade answers every question, and rejects the next order too."""

log = logging.getLogger(__name__)


class AccountLockout:
    """Whether the exchange rejects this bot's account, and when it is asked again."""

    def __init__(
        self,
        account: TradingAccount,
        health: ExchangeHealthWatch,
        cache: StateCache,
        steady_clock: Callable[[], int] = steady_now,
    ) -> None:
        self._account = account
        self._health = health
        self._knowledge = cache
        self._steady_clock = steady_clock
        self._locked = asyncio.Event()
        self._check_at = 0
        self._order_seconds = ORDER_SECONDS
        """Of the next rejection of an order."""
        self._trusted_at = 0
        """From when on the account counts as sound again."""

    @property
    def is_on(self) -> bool:
        return self._knowledge.is_locked_out

    @property
    def may_check(self) -> bool:
        return self._steady_clock() >= self._check_at

    def lock(self, error: AccountRejectedError, *, of_an_order: bool = False) -> None:
        """The exchange has rejected the account, for the first time or still."""
        self._health.record_failure("account_rejected", self._account.exchange)
        if not self.is_on:
            log.error("paused, %s", error, extra={"exchange": self._account.exchange})
            if of_an_order:
                self._postpone_check()
        self._knowledge.is_locked_out = True
        self._locked.set()

    async def run(self) -> None:
        """Each time the exchange rejects the account: ask now and then, until it accepts it. Without end."""
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
        """Once. An exchange that does not answer has not said that it accepts the account."""
        try:
            await self._account.balances()
        except AccountRejectedError as error:
            self.lock(error)
        except ExchangeUnavailableError as error:
            log.warning("still paused: %s", error, extra={"exchange": self._account.exchange})
        else:
            self._knowledge.is_locked_out = False
            log.warning("resumed, the account is accepted again", extra={"exchange": self._account.exchange})

    async def guard(self, task: BackgroundTask, *, of_an_order: bool = False) -> None:
        """`task`, to which a rejected account is an outage like others. Raises what it raises, but for that."""
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
