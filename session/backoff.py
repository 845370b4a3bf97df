"""How long to wait between two attempts, and asking again."""

import random
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from session.clock import SystemClock

FIRST_SECONDS = 0.5

Answer = TypeVar("Answer")

CHANCE = random.Random()  # noqa: S311 - jitter is no secret


def backoff(
    first: float = FIRST_SECONDS, factor: float = 2.0, longest: float = 10.0, chance: random.Random = CHANCE
) -> Iterator[float]:
    """Delays in seconds, growing up to `longest`; each with a tenth of jitter, so that parts do not return in step."""
    delay = first
    while True:
        yield jittered(delay, chance)
        delay = min(delay * factor, longest)


def jittered(seconds: float, chance: random.Random = CHANCE) -> float:
    """Up to a tenth more or less."""
    return seconds * chance.uniform(0.9, 1.1)


async def answered(
    question: Callable[[], Awaitable[Answer]],
    outages: tuple[type[Exception], ...],
    heard: Callable[[Exception], None],
    first: float = FIRST_SECONDS,
) -> Answer:
    """The answer, asked again after each of `outages`, which `heard` gets; raises whatever else it raises."""
    delays = backoff(first)
    while True:
        try:
            return await question()
        except outages as error:
            heard(error)
        await SystemClock().sleep(next(delays))
