"""How a bot goes that was asked to: once nothing of it is in flight that nobody else would watch."""

import asyncio
from collections.abc import Coroutine

from bots.bot_loop import BotLoop
from session.tasks import first_of


class Draining:
    """One process's way out: asked for by a signal, carried out by the desk, where it has one already."""

    def __init__(self) -> None:
        self._requested = asyncio.Event()
        self.bot_loop: BotLoop | None = None

    def request(self) -> None:
        self._requested.set()

    async def finish(self) -> None:
        """Returns once the process was asked to go and may. Raises StoreError."""
        await self._requested.wait()
        if self.bot_loop is not None:
            await self.bot_loop.drain()


async def run_until_drained(work: Coroutine[object, object, None], draining: Draining) -> None:
    """`work` until it ends, or is ended since the departure is over. Raises what either raises."""
    await first_of(work, draining.finish())
