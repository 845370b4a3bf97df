"""Several things at once, of which one ends the others: the first that fails, or the first that ends."""

import asyncio
from collections.abc import Coroutine
from typing import Literal

Part = Coroutine[object, object, None]


async def run_all(*parts: Part) -> None:
    """Until all have ended; raises what the first to fail raised, once the others are cancelled and gone.

    Unlike a TaskGroup, a part that fails in the moment in which the whole is cancelled does not undo that: whoever
    outlives failures, as a watch does, would never end.
    """
    await _until("FIRST_EXCEPTION", parts)


async def run_until_first(*parts: Part) -> None:
    """Until one has ended, once the others are cancelled and gone; raises what that one raised."""
    await _until("FIRST_COMPLETED", parts)


async def _until(event: Literal["FIRST_EXCEPTION", "FIRST_COMPLETED"], parts: tuple[Part, ...]) -> None:
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=event)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if task in done and (failure := task.exception()) is not None:
            raise failure
