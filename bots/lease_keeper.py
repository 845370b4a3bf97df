"""Acquires the exchange's lease once and renews it: only its holder acts for the exchange."""

import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

from bots.errors import BotError
from market.time_units import MICROSECONDS
from market.trade.leases import LEASE_SECONDS, Actor, Lease, decided_partition
from runtime.clock import SystemClock, steady_now
from store.errors import FencedOutError, StoreUnavailableError
from store.ports.parts import LeaseStore

log = logging.getLogger(__name__)

RENEW_SECONDS = 0.75
POLL_SECONDS = 0.25
"""Interval at which a standby tries to acquire the lease."""


class RateUsageTracker(Protocol):
    """Counts what an account uses of its exchange's rate limits."""

    def used(self) -> str | None:
        """Return the usage as text; None for an exchange without limits."""
        ...

    def take_over(self, used: str, ago: int) -> None:
        """Continue from what the last holder had used `ago` microseconds before."""
        ...


@dataclass(slots=True)
class LeaseKeeper:
    """One process's claim to act for one exchange, or to decide; `acquire` first, then `keep_renewing` for as long as
    it works. The right to decide is taken, and counts, only if the store lets this process decide.

    The exchange's rate limits span processes, so the usage is stored with the lease (`carry_usage`). What a killed
    holder used after its last renewal, at most `RENEW_SECONDS` ago while the store is reachable, is lost: a few
    requests, which seldom exceed a limit.
    """

    leases: LeaseStore
    exchange: str
    holder: str
    steady_clock: Callable[[], int] = steady_now
    poll_seconds: float = POLL_SECONDS
    _lease: Lease | None = None
    _held_until: int = 0
    """By the steady clock: the lease's length, counted from before the request."""
    _usage: RateUsageTracker | None = None
    _decides: bool = field(init=False)

    def __post_init__(self) -> None:
        self._decides = decided_partition(self.exchange) is not None

    def is_held(self) -> bool:
        """Whether the lease is certainly still ours, by this process's clock."""
        return self._lease is not None and self.steady_clock() < self._held_until and self.is_allowed()

    def is_allowed(self) -> bool:
        """Whether this process may hold it at all."""
        return not self._decides or self.leases.may_decide()

    async def acquire(self, on_standby: Callable[[], None] | None = None) -> Actor:
        """Wait until the lease is acquired; `on_standby` is called once if another process keeps renewing it.

        Raises StoreUnavailableError.
        """
        started_at, is_reported = self.steady_clock(), False
        while True:
            requested_at = self.steady_clock()
            self._lease = await self.leases.acquire(self.exchange, self.holder) if self.is_allowed() else None
            if self._lease is not None:
                self._extend(requested_at)
                return self._lease.actor
            waited = self.steady_clock() - started_at
            if not is_reported and on_standby is not None and waited > 2 * LEASE_SECONDS * MICROSECONDS:
                # longer than the lease of a dead holder can last
                is_reported = True
                on_standby()
            await SystemClock().sleep(self.poll_seconds)

    def carry_usage(self, usage: RateUsageTracker) -> None:
        """Continue from the last holder's rate limit usage, and store this one's with every renewal."""
        if self._lease is None:
            raise BotError(f"{self.holder} has not acquired the lease of {self.exchange}")
        usage.take_over(self._lease.used, self._lease.used_ago)
        self._usage = usage

    def _used(self) -> str | None:
        return None if self._usage is None else self._usage.used()

    async def keep_renewing(self) -> None:
        """Renew until cancelled, through outages. Raises FencedOutError once another process has taken over."""
        while True:
            await SystemClock().sleep(RENEW_SECONDS)
            await self.renew()

    async def renew(self) -> None:
        """Renew once. Raises FencedOutError once another process has taken over."""
        lease = self._lease
        if lease is None:
            raise BotError(f"{self.holder} has not acquired the lease of {self.exchange}")
        requested_at = self.steady_clock()
        try:
            renewed = await self.leases.renew(lease, self._used())
        except StoreUnavailableError as error:
            log.warning("lease not renewed, retrying: %s", error, extra={"exchange": self.exchange})
            return
        if renewed is None:
            raise FencedOutError(f"another process has taken over {self.exchange}; {self.holder} exits")
        self._lease = renewed
        self._extend(requested_at)

    def _extend(self, requested_at: int) -> None:
        self._held_until = requested_at + int(LEASE_SECONDS * MICROSECONDS)

    async def release(self) -> None:
        """Release the lease, so that the next holder need not wait. Raises StoreUnavailableError."""
        lease, self._lease = self._lease, None
        if lease is not None:
            await self.leases.release(lease, self._used())


def holder_name(exchange: str) -> str:
    """Return a unique name with machine and process id, which the history of arbitrages shows."""
    return f"{exchange}@{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}"


def holder_process(holder: str) -> int:
    """Return the process id in such a name."""
    return int(holder.split(":")[-2])
