"""Says on the terminal what a step waits for, once it takes long: nobody looks at a silent terminal for a minute."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

SILENT_SECONDS = 2.0
"""A step that takes no longer says nothing."""
AGAIN_SECONDS = 10.0

Result = TypeVar("Result")


async def reported_if_slow(
    step: Coroutine[object, object, Result],
    waits_for: Callable[[], str],
    echo: Callable[[str], None],
    silent_seconds: float = SILENT_SECONDS,
    again_seconds: float = AGAIN_SECONDS,
) -> Result:
    """Return the result of `step`, and raise what it raises. Print what it waits for after `silent_seconds`, then every
    `again_seconds`; nothing if there is nothing to say."""
    task = asyncio.ensure_future(step)
    seconds = silent_seconds
    try:
        while not (await asyncio.wait([task], timeout=seconds))[0]:
            if line := waits_for():
                echo(line)
            seconds = again_seconds
        return task.result()
    finally:
        # if we are cancelled, so is the step
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
