"""Who of a deciding process writes next: decisions and bookings meet in the same rows of the store, and to wait for
each other costs less than an aborted transaction."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

MAX_IN_A_ROW = 4
"""Decisions that may pass a booking which waits."""


class WriteTurns:
    """One writer at a time. A decision goes before bookings that wait, since its prices will be gone; what is booked a
    moment later is the same. `is_pressing` returns whether opportunities wait to be decided on: whoever takes one out
    takes a turn for it."""

    def __init__(self, is_pressing: Callable[[], bool]) -> None:
        self._is_pressing = is_pressing
        self._is_taken = False
        self._waiting: list[asyncio.Future[None]] = []
        self._deciding = 0
        """Decisions that wait for their turn."""
        self._passed = 0
        """Decisions since the last booking."""

    @asynccontextmanager
    async def to_decide(self) -> AsyncIterator[None]:
        """For as long as the context lasts nobody else writes."""
        self._deciding += 1
        try:
            await self._taken(lambda: True)
        except asyncio.CancelledError:
            self._deciding -= 1
            # it no longer holds bookings up
            self._wake()
            raise
        self._deciding -= 1
        self._passed += 1
        try:
            yield
        finally:
            self._give_back()

    @asynccontextmanager
    async def to_book(self) -> AsyncIterator[None]:
        """Return the same, once no decision waits, or `MAX_IN_A_ROW` have passed."""
        await self._taken(self._may_book)
        self._passed = 0
        try:
            yield
        finally:
            self._give_back()

    def _may_book(self) -> bool:
        return self._passed >= MAX_IN_A_ROW or not (self._deciding or self._is_pressing())

    async def _taken(self, may: Callable[[], bool]) -> None:
        while self._is_taken or not may():
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        self._is_taken = True

    def _give_back(self) -> None:
        self._is_taken = False
        self._wake()

    def _wake(self) -> None:
        """All look again whether it is their turn, in the order in which they came."""
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)
