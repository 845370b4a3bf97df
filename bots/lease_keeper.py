"""The time in which this process acts for its exchange: a lease, taken once and kept alive."""

import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import uuid4

from bots.errors import BotError
from market.time_units import MICROSECONDS
from market.trade.leases import LEASE_SECONDS, Actor, Lease
from session.clock import SystemClock, steady_now
from store.errors import FencedOutError, StoreUnavailableError
from store.store_port import TradeStore

log = logging.getLogger(__name__)

RENEW_SECONDS = 0.75
POLL_SECONDS = 0.25
"""Between two questions of a standby whether the lease is free."""


class RateUsageTracker(Protocol):
    """What counts what an account uses of its exchange's rate limits."""

    def used(self) -> str | None:
        """None where nothing limits it."""
        ...

    def take_over(self, used: str, ago: int) -> None:
        """What the last holder had used, `ago` microseconds before."""
        ...


@dataclass(slots=True)
class LeaseKeeper:
    """One process's claim to act for one exchange; `acquire` first, then `keep_renewing` for as long as it works.

    The exchange goes on counting when another process takes over, so what is used of its limits is kept with the lease
    (`carry_usage`). What a holder that is killed used after its last renewal, of `RENEW_SECONDS` at most while the
    store is
    there, the next does not know: a few requests, for which "too many" is seldom said, and nothing is sent after it.
    """

    store: TradeStore
    exchange: str
    holder: str
    steady_clock: Callable[[], int] = steady_now
    _lease: Lease | None = None
    _held_until: int = 0
    """By the steady clock: what the server gave, counted from before it was asked."""
    _usage: RateUsageTracker | None = None

    def is_held(self) -> bool:
        """Whether nobody else can have the lease yet, as far as this process knows."""
        return self._lease is not None and self.steady_clock() < self._held_until

    async def acquire(self, on_standby: Callable[[], None] | None = None) -> Actor:
        """Wait until the lease is ours; `on_standby` is called once where another process keeps it alive.

        Raises StoreUnavailableError.
        """
        started_at, is_reported = self.steady_clock(), False
        while True:
            requested_at = self.steady_clock()
            self._lease = await self.store.acquire_lease(self.exchange, self.holder)
            if self._lease is not None:
                self._extend(requested_at)
                return self._lease.actor
            waited = self.steady_clock() - started_at
            if not is_reported and on_standby is not None and waited > 2 * LEASE_SECONDS * MICROSECONDS:
                # longer than a dead holder's lease can last
                is_reported = True
                on_standby()
            await SystemClock().sleep(POLL_SECONDS)

    def carry_usage(self, usage: RateUsageTracker) -> None:
        """Begin with what the last holder had used, and keep with the lease from now on what this one has."""
        if self._lease is None:
            raise BotError(f"{self.holder} has no lease of {self.exchange} to begin with")
        usage.take_over(self._lease.used, self._lease.used_ago)
        self._usage = usage

    def _used(self) -> str | None:
        return None if self._usage is None else self._usage.used()

    async def keep_renewing(self) -> None:
        """Renew for ever. Raises FencedOutError once another process has taken over; outages are waited through."""
        while True:
            await SystemClock().sleep(RENEW_SECONDS)
            await self.renew()

    async def renew(self) -> None:
        """Once. Raises FencedOutError once another process has taken over."""
        lease = self._lease
        if lease is None:
            raise BotError(f"{self.holder} has no lease of {self.exchange} to renew")
        requested_at = self.steady_clock()
        try:
            renewed = await self.store.renew_lease(lease, self._used())
        except StoreUnavailableError as error:
            log.warning("lease not renewed, trying again: %s", error, extra={"exchange": self.exchange})
            return
        if renewed is None:
            raise FencedOutError(f"another process acts for {self.exchange} by now; {self.holder} ends")
        self._lease = renewed
        self._extend(requested_at)

    def _extend(self, requested_at: int) -> None:
        self._held_until = requested_at + int(LEASE_SECONDS * MICROSECONDS)

    async def release(self) -> None:
        """So that the next need not wait. Raises StoreUnavailableError."""
        lease, self._lease = self._lease, None
        if lease is not None:
            await self.store.release_lease(lease, self._used())


def holder_name(exchange: str) -> str:
    """Unique among all processes that ever were: names the machine and the process for whoever reads the history."""
    return f"{exchange}@{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}"
