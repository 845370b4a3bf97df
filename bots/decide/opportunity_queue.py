"""Opportunities waiting to be decided on, newest first: the oldest are the likeliest to have expired."""

import asyncio
from collections import deque

from market.prices.opportunities import Opportunity


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

    async def newest(self) -> Opportunity:
        """Remove and return the newest; waits while the queue is empty."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.pop()
