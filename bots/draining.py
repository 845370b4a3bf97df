"""Draining: a bot that is asked to exit first finishes the orders that no other process could look up."""

import asyncio
from collections.abc import Coroutine

from bots.loop import BotLoop
from runtime.tasks import run_until_first


class Draining:
    """The drain of one process: requested by a signal, done by the bot loop if there already is one."""

    def __init__(self) -> None:
        self._requested = asyncio.Event()
        self.bot_loop: BotLoop | None = None

    def request(self) -> None:
        self._requested.set()

    async def finish(self) -> None:
        """Return once the drain was requested and is done. Raises StoreError."""
        await self._requested.wait()
        if self.bot_loop is not None:
            await self.bot_loop.drain()


async def run_until_drained(work: Coroutine[object, object, None], draining: Draining) -> None:
    """Run `work` until it ends or the drain is done, which cancels it. Raises what either raises."""
    await run_until_first(work, draining.finish())
