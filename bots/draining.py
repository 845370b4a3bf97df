"""How a bot goes that was asked to: once nothing of it is in flight that nobody else would watch."""

import asyncio
from collections.abc import Coroutine

from bots.bot_loop import BotLoop
from session.tasks import first_of


class Draining:
    """One process's way out: asked for by a signal, carried out by the desk, where it has one already."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self.desk: BotLoop | None = None

    def ask(self) -> None:
        self._asked.set()

    async def carry_out(self) -> None:
        """Returns once the process was asked to go and may. Raises StoreError."""
        await self._asked.wait()
        if self.desk is not None:
            await self.desk.leave()


async def until_left(work: Coroutine[object, object, None], departure: Draining) -> None:
    """`work` until it ends, or is ended since the departure is over. Raises what either raises."""
    await first_of(work, departure.carry_out())
