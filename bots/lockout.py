"""What a bot does while its exchange refuses the account: it begins nothing, sends nothing, and asks now and then.

A ban ends, a key is given its permission back: no word of an exchange ends the process.
"""

import asyncio
import logging

from bots.health import HealthWatch
from bots.knowledge import Knowledge
from bots.persistence import Errand
from exchanges.errors import AccountRefusedError, ExchangeUnavailableError
from exchanges.port import TradingAccount
from market.backoff import backoff
from market.clock import SystemClock

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 10.0
"""Between two questions; shorter than a refused account pauses its exchange for (`market.breaker`)."""

log = logging.getLogger(__name__)


class Lockout:
    """Whether the exchange refuses this bot's account, and when it is asked again."""

    def __init__(self, account: TradingAccount, health: HealthWatch, knowledge: Knowledge) -> None:
        self._account = account
        self._health = health
        self._knowledge = knowledge
        self._begun = asyncio.Event()

    @property
    def is_on(self) -> bool:
        return self._knowledge.is_locked_out

    def begin(self, error: AccountRefusedError) -> None:
        """The exchange has refused the account, for the first time or still."""
        self._health.note("account_refused", self._account.exchange)
        if not self.is_on:
            log.error("paused, %s", error, extra={"exchange": self._account.exchange})
        self._knowledge.is_locked_out = True
        self._begun.set()

    async def run(self) -> None:
        """Each time the exchange refuses the account: ask now and then, until it accepts it. Without end."""
        while True:
            await self._begun.wait()
            waits = backoff(FIRST_SECONDS, longest=LONGEST_SECONDS)
            while self.is_on:
                await SystemClock().sleep(next(waits))
                await self.ask()
            self._begun.clear()

    async def ask(self) -> None:
        """Once. An exchange that does not answer has not said that it accepts the account."""
        try:
            await self._account.balances()
        except AccountRefusedError as error:
            self.begin(error)
        except ExchangeUnavailableError as error:
            log.warning("still paused: %s", error, extra={"exchange": self._account.exchange})
        else:
            self._knowledge.is_locked_out = False
            log.warning("resumed, the account is accepted again", extra={"exchange": self._account.exchange})

    async def noticed(self, errand: Errand) -> None:
        """`errand`, to which a refused account is an outage like others. Raises what it raises, but for that."""
        try:
            await errand()
        except AccountRefusedError as error:
            self.begin(error)
            raise ExchangeUnavailableError(str(error)) from error
