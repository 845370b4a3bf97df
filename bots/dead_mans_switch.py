"""Has the exchange cancel what rests there once nobody of ours is left to do it, where the exchange can.

Our own orders fill or go at once. What this is for is one that an exchange leaves hanging while we are gone.
"""

import asyncio
import logging
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from exchanges.errors import ExchangeError
from session.clock import SystemClock

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 60
REFRESH_SECONDS = 30.0
"""Both as Kraken recommends (every 15 to 30 s); seldom, since each counts in the limit of requests."""
DISARM_SECONDS = 2.0
"""What the end of a process waits for it at most."""


class SwitchableAccount(Protocol):
    """An account's."""

    @property
    def exchange(self) -> str: ...

    async def cancel_all_after(self, seconds: int) -> None:
        """0: no more. Raises ExchangeError."""
        ...


@dataclass(slots=True)
class DeadMansSwitch:
    """Kept armed by whoever holds the exchange's lease; `disarm` ends a block within which it may have been armed."""

    account: SwitchableAccount

    async def run(self) -> None:
        """For ever. Raises ExchangeUnavailableError: run it again."""
        while True:
            await self.account.cancel_all_after(TIMEOUT_SECONDS)
            await SystemClock().sleep(REFRESH_SECONDS)

    async def disarm(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Disarm at a clean end. After any other it stays armed, as it must; and where another process has taken over,
        it is that one's by now."""
        if kind is not None and not issubclass(kind, asyncio.CancelledError):
            return
        try:
            async with asyncio.timeout(DISARM_SECONDS):
                await self.account.cancel_all_after(0)
        except (ExchangeError, TimeoutError) as error:
            log.warning("dead man's switch left armed: %s", error, extra={"exchange": self.account.exchange})
