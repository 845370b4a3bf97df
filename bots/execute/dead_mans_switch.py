"""The dead man's switch: the exchange cancels resting orders once the bot stops refreshing it, if it offers that.

Our orders are immediate-or-cancel. The switch is for one that the exchange leaves resting while no bot runs.
"""

import asyncio
import logging
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from exchanges.errors import ExchangeError
from runtime.clock import SystemClock

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 60
REFRESH_SECONDS = 30.0
"""Both as Kraken recommends (every 15 to 30 s); not more often, since each request counts in the rate limit."""
DISARM_SECONDS = 2.0
"""Longest wait of an exiting process."""


class SwitchableAccount(Protocol):
    """An account with a dead man's switch."""

    @property
    def exchange(self) -> str: ...

    async def cancel_all_after(self, seconds: int) -> None:
        """Arm the switch; 0 disarms it. Raises ExchangeError."""
        ...


@dataclass(slots=True)
class DeadMansSwitch:
    """Kept armed by the holder of the exchange's lease; `disarm` is the exit callback of its context."""

    account: SwitchableAccount

    async def run(self) -> None:
        """Run until cancelled. Raises ExchangeUnavailableError: run it again."""
        while True:
            await self.account.cancel_all_after(TIMEOUT_SECONDS)
            await SystemClock().sleep(REFRESH_SECONDS)

    async def disarm(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Disarm on a clean exit or a cancellation. After an error the switch stays armed; after a takeover it belongs
        to the new holder."""
        if kind is not None and not issubclass(kind, asyncio.CancelledError):
            return
        try:
            async with asyncio.timeout(DISARM_SECONDS):
                await self.account.cancel_all_after(0)
        except (ExchangeError, TimeoutError) as error:
            log.warning("dead man's switch not disarmed: %s", error, extra={"exchange": self.account.exchange})
