"""Waiting for a condition, with a deadline."""

from collections.abc import Awaitable, Callable

from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now


async def until(done: Callable[[], bool | Awaitable[bool]], seconds: float = 20) -> None:
    """Return once `done` says so; AssertionError after `seconds`."""
    deadline = wall_now() + int(seconds * MICROSECONDS)
    while True:
        answer = done()
        if answer if isinstance(answer, bool) else await answer:
            return
        assert wall_now() < deadline, "it did not come about"
        await SystemClock().sleep(0.02)
