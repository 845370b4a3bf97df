"""Concurrent tasks that end together: with the first that fails, or with the first that ends."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Literal

from runtime.backoff import FIRST_SECONDS, backoff
from runtime.clock import SystemClock

Part = Coroutine[object, object, object]


async def run_all(*parts: Part) -> None:
    """Run all to their end; the first failure cancels the others and is raised.

    Unlike in a TaskGroup, a task that fails while all are being cancelled does not undo the cancellation, which could
    keep a caller that survives failures from ever ending.
    """
    if parts:
        await _until("FIRST_EXCEPTION", parts)


async def run_until_first(*parts: Part) -> None:
    """Run until the first has ended, then cancel the others; raises what the first raised."""
    await _until("FIRST_COMPLETED", parts)


async def run_again(
    start: Callable[[], Part], on_failure: Callable[[BaseException], None], first: float = FIRST_SECONDS
) -> None:
    """Run what `start` gives to its end; after a failure, whatever it is, again. Each is passed to `on_failure`.
    `first`: seconds before the second run; later ones wait longer.

    For what nobody awaits: a failure would end it without a word.
    """
    delays = backoff(first)
    while True:
        task = asyncio.create_task(start())
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        failure = task.exception()
        if failure is None:
            return
        on_failure(failure)
        await SystemClock().sleep(next(delays))


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
