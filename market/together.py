"""Several things at once, of which the first that fails ends the others."""

import asyncio
from collections.abc import Coroutine


async def together(*parts: Coroutine[object, object, None]) -> None:
    """Until all have ended; raises what the first to fail raised, once the others are cancelled and gone.

    Unlike a TaskGroup, a part that fails in the moment in which the whole is cancelled does not undo that: whoever
    outlives failures, as a watch does, would never end.
    """
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if task in done and (failure := task.exception()) is not None:
            raise failure
