"""Leases of the store in memory, and who is fenced out by them."""

from market.trade.leases import Actor, Lease, acquired, is_fenced_out, released, renewed
from market.trade.lifecycle import Moment
from session.clock import Clock
from store.errors import FencedOutError


class MemoryLeases:
    """The part of the store's port that is about leases. The clock is the server's time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._leases: dict[str, Lease] = {}

    async def acquire_lease(self, exchange: str, holder: str) -> Lease | None:
        return self._keep_lease(acquired(self._leases.get(exchange), exchange, holder, self._clock.now()))

    async def renew_lease(self, lease: Lease, used: str | None = None) -> Lease | None:
        return self._keep_lease(renewed(self._leases.get(lease.exchange), lease, self._clock.now(), used))

    async def release_lease(self, lease: Lease, used: str | None = None) -> None:
        self._keep_lease(released(self._leases.get(lease.exchange), lease, self._clock.now(), used))

    def _keep_lease(self, lease: Lease | None) -> Lease | None:
        if lease is not None:
            self._leases[lease.exchange] = lease
        return lease

    def moment(self, by: Actor) -> Moment:
        """Raises FencedOutError where another process acts for the actor's exchange."""
        if by.exchange is not None and is_fenced_out(self._leases.get(by.exchange), by):
            raise FencedOutError(f"{by.name} no longer acts for {by.exchange}: another process has taken over")
        return Moment(self._clock.now(), by)
