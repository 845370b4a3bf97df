"""Who decides: for each partition of the opportunities one process at a time, whichever bot holds its lease.

The holder needs no account of either exchange; in a session of several regions it is beside the store's primary. What
it has looked at is stored with its lease, so that the next one goes on from there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from bots.lease_keeper import RENEW_SECONDS, LeaseKeeper
from bots.retry import run_forever
from market.prices.opportunities import Opportunity
from market.trade.leases import Actor, decision_right
from runtime.clock import SystemClock, steady_now
from store.errors import FencedOutError
from store.ports.parts import LeaseStore
from streams.topics import partition_of

log = logging.getLogger(__name__)

POLL_SECONDS = 0.5
"""Interval at which the others try to acquire the lease: it passes on within its length and this."""

LEAVING_SECONDS = 1.0
"""So long a process that leaves lets the others try first."""


@dataclass(slots=True)
class LookedAt:
    """Up to when the opportunities of a partition were looked at, carried by the lease from holder to holder."""

    until: int = 0
    """When the last one was detected, microseconds; 0 if nobody ever looked."""

    def used(self) -> str:
        return str(self.until)

    def take_over(self, used: str, ago: int) -> None:  # the time is what matters, not its age
        self.until = max(self.until, int(used or "0"))


Begin = Callable[[int, int], Awaitable[None]]
"""Called with a partition and the time of detection up to which its opportunities were looked at."""


@dataclass(slots=True)
class _Turn:
    lease: LeaseKeeper
    progress: LookedAt = field(default_factory=LookedAt)
    actor: Actor | None = None


class DecisionTurns:
    """One process's part in deciding; `run` competes for the leases of all partitions."""

    def __init__(
        self, leases: LeaseStore, holder: str, partitions: int, steady_clock: Callable[[], int] = steady_now
    ) -> None:
        self._leases = leases
        self._partitions = partitions
        self._turns = {
            partition: _Turn(LeaseKeeper(leases, decision_right(partition), holder, steady_clock, POLL_SECONDS))
            for partition in range(partitions)
        }
        self._is_leaving = self._is_over = False

    def decider_of(self, base: str) -> Actor | None:
        """As whom this process decides on opportunities of `base`; None if another one does, or nobody."""
        return None if self._is_leaving else self.booker_of(base)

    def booker_of(self, base: str) -> Actor | None:
        """As whom this process books what was decided on `base`; None if another one does."""
        return self.actor(partition_of(base, self._partitions))

    def decides(self, partition: int) -> bool:
        return not self._is_leaving and self.actor(partition) is not None

    def books(self) -> bool:
        """Whether this process has any partition."""
        return any(self.actor(partition) is not None for partition in self._turns)

    def partition_of(self, opportunity: Opportunity) -> int:
        return partition_of(opportunity.base, self._partitions)

    def actor(self, partition: int) -> Actor | None:
        turn = self._turns[partition]
        return turn.actor if turn.lease.is_held() else None

    def record_seen(self, opportunity: Opportunity) -> None:
        """Record that this process has looked at it."""
        progress = self._turns[self.partition_of(opportunity)].progress
        progress.until = max(progress.until, opportunity.detected_time)

    async def run(self, begin: Begin) -> None:
        """Run until cancelled; `begin` is called at the begin of each turn."""
        async with asyncio.TaskGroup() as tasks:
            for partition in self._turns:
                tasks.create_task(run_forever(partial(self._take_turn, partition, begin)))

    async def leave(self, *, to_others: bool) -> None:
        """Decide no more. `to_others`: another process shall go on at once. This one takes a lease again if no other
        does, to book what is open. Raises StoreUnavailableError."""
        self._is_leaving = True
        if to_others:
            await self._release()

    async def end(self) -> None:
        """Take no turn any more; the next process need not wait. Raises StoreUnavailableError."""
        self._is_over = True
        await self._release()

    async def _release(self) -> None:
        for turn in self._turns.values():
            if turn.actor is not None:
                turn.actor = None
                await turn.lease.release()

    async def _take_turn(self, partition: int, begin: Begin) -> None:
        """One turn, from the lease to its loss. Raises StoreUnavailableError."""
        turn = self._turns[partition]
        if self._is_over:
            return
        if self._is_leaving:
            await SystemClock().sleep(LEAVING_SECONDS)
        actor = await turn.lease.acquire()
        turn.lease.carry_usage(turn.progress)
        try:
            # it conflicts with a decision of the last holder that is under way, and later ones see the new lease
            await self._leases.set_veto(actor, None)
            if self._is_over:
                await turn.lease.release()
                return
            looked_at = turn.progress.until
            turn.actor = actor
            log.info("decides on partition %d", partition)
            if not self._is_leaving:
                await begin(partition, looked_at)
            while turn.actor is not None and turn.lease.is_allowed():
                # at once: a successor counts again what came after the progress that is stored
                await turn.lease.renew()
                await SystemClock().sleep(RENEW_SECONDS)
            if turn.actor is not None:
                log.info("decides no more on partition %d: the primary is in another region", partition)
                # those beside the primary need not wait until it runs out
                turn.actor = None
                await turn.lease.release()
        except FencedOutError as error:
            log.warning("decides no more on partition %d: %s", partition, error)
        finally:
            turn.actor = None
