"""Opportunities waiting to be decided on: a jump of one exchange opens a gap to each other one, in each asset, within
moments, and the rate limits allow to trade few of them.

Those of the newest burst come first, the most profitable of them before the others, whichever arrived first. No message
says that a gap has closed, so an older find with a large profit may be at gone prices: it would spend the rate limits,
and could fill one leg alone.
"""

import asyncio
from collections.abc import Callable
from decimal import Decimal

from market.prices.episodes import MarketPair, pair_of
from market.prices.opportunities import Opportunity

Profit = Callable[[Opportunity], Decimal]

BURST = 50_000
"""Microseconds of event time: finds so close together are of one jump, and equally fresh."""


class OpportunityQueue:
    """Holds the newest opportunity of each pair of markets, of at most `size` pairs.

    What is replaced, removed or dropped is recorded as what expires here is: not as a rejection, so that it counts as
    expired before a decision.
    """

    def __init__(self, profit: Profit, size: int = 64) -> None:
        """`profit`: how much one trade on it could earn now, in the settlement currency."""
        self._profit = profit
        self._size = size
        self._waiting: dict[MarketPair, Opportunity] = {}
        self._arrived = asyncio.Event()

    def push(self, opportunity: Opportunity) -> None:
        """Add it in place of its pair's older one; of too many, the one that would be decided last is dropped."""
        if not self.remove_older(opportunity):
            return
        self._waiting[pair_of(opportunity)] = opportunity
        if len(self._waiting) > self._size:
            del self._waiting[pair_of(min(self._oldest(), key=self._profit))]
        self._arrived.set()

    def remove_older(self, opportunity: Opportunity) -> bool:
        """Remove its pair's one, whose prices are gone. Returns False, and removes nothing, if that is the newer."""
        pair = pair_of(opportunity)
        known = self._waiting.get(pair)
        if known is not None and known.event_time > opportunity.event_time:
            return False
        self._waiting.pop(pair, None)
        return True

    def has_any(self) -> bool:
        return bool(self._waiting)

    async def filled(self) -> None:
        """Wait while the queue is empty."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()

    def take(self) -> Opportunity | None:
        """Remove and return the most profitable one of the newest burst, of equal ones the last pushed; None if the
        queue is empty."""
        if not self._waiting:
            return None
        newest = max(one.event_time for one in self._waiting.values())
        burst = [one for one in self._waiting.values() if one.event_time > newest - BURST]
        return self._waiting.pop(pair_of(max(reversed(burst), key=self._profit)))

    def _oldest(self) -> list[Opportunity]:
        """Return those that would be decided on last: the oldest, or the whole burst if there is no other."""
        waiting = list(self._waiting.values())
        oldest, newest = (which(one.event_time for one in waiting) for which in (min, max))
        return [one for one in waiting if one.event_time == oldest] if oldest <= newest - BURST else waiting
