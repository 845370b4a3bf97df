"""Opportunities waiting to be decided on, in order of expected profit: a jump of one exchange opens a gap to each other
one, and the rate limits allow to trade few of them."""

import asyncio
from collections import deque

from market.prices.opportunities import Opportunity

_Pair = tuple[str, str, str, str]


class OpportunityQueue:
    """Holds at most `size` opportunities and drops the oldest."""

    def __init__(self, size: int = 64) -> None:
        self._waiting: deque[Opportunity] = deque(maxlen=size)
        self._arrived = asyncio.Event()

    def push(self, opportunity: Opportunity) -> None:
        self._waiting.append(opportunity)
        self._arrived.set()

    def has_any(self) -> bool:
        return bool(self._waiting)

    async def best(self) -> Opportunity:
        """Remove and return the most profitable one, of equal ones the newest; waits while the queue is empty.

        Of each pair of markets the newest comes first: the prices of the others are gone.
        """
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        chosen = self._best_of_the_newest()
        self._waiting.remove(chosen)
        return chosen

    def _best_of_the_newest(self) -> Opportunity:
        newest: dict[_Pair, Opportunity] = {}
        for opportunity in reversed(self._waiting):
            newest.setdefault(_pair_of(opportunity), opportunity)
        return max(newest.values(), key=lambda one: one.expected_profit)


def _pair_of(opportunity: Opportunity) -> _Pair:
    buy, sell = opportunity.buy, opportunity.sell
    return buy.exchange, buy.symbol, sell.exchange, sell.symbol
