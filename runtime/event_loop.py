"""The event loop that our processes run on: libuv's, which takes less CPU for a message than Python's own."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import uvloop

Result = TypeVar("Result")


def run_until_done(work: Coroutine[object, object, Result]) -> Result:
    """Return the result of `work`, run as `asyncio.run` does. Raises what it raises."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)
