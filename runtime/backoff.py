"""Exponential backoff with jitter, and retries."""

import random
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from runtime.clock import SystemClock

FIRST_SECONDS = 0.5

Result = TypeVar("Result")

CHANCE = random.Random()  # noqa: S311 - jitter is no secret


def backoff(
    first: float = FIRST_SECONDS, factor: float = 2.0, longest: float = 10.0, chance: random.Random = CHANCE
) -> Iterator[float]:
    """Delays in seconds, growing up to `longest`; each with a tenth of jitter, so that processes do not retry in
    step."""
    delay = first
    while True:
        yield jittered(delay, chance)
        delay = min(delay * factor, longest)


def jittered(seconds: float, chance: random.Random = CHANCE) -> float:
    """Up to a tenth more or less."""
    return seconds * chance.uniform(0.9, 1.1)


async def retry_on(
    call: Callable[[], Awaitable[Result]],
    outages: tuple[type[Exception], ...],
    on_outage: Callable[[Exception], None],
    first: float = FIRST_SECONDS,
) -> Result:
    """Return the result of `call`, retried after each of `outages`, which is passed to `on_outage`; other errors are
    raised."""
    delays = backoff(first)
    while True:
        try:
            return await call()
        except outages as error:
            on_outage(error)
        await SystemClock().sleep(next(delays))
