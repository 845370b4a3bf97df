"""Waits that the user can interrupt."""

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import TypeVar

from launch.errors import StoppedError
from session.clock import SystemClock

Result = TypeVar("Result")


def stop_event() -> asyncio.Event:
    """Set by Ctrl-C or SIGTERM."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    return stopped


async def unless_stopped(work: Coroutine[object, object, Result], stopped: asyncio.Event) -> Result:
    """Return the result of `work`. Raises StoppedError if the user stopped us first."""
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stopped.wait())
    try:
        await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise StoppedError("stopped before it was done.")
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


async def stopped_or_after(stopped: asyncio.Event, seconds: float | None) -> None:
    """Wait until the user stops us, at most `seconds`."""
    if seconds is None:
        await stopped.wait()
        return
    with suppress(StoppedError):
        await unless_stopped(SystemClock().sleep(seconds), stopped)
