"""How long to wait between two attempts."""

import random
from collections.abc import Iterator

CHANCE = random.Random()  # noqa: S311 - jitter is no secret


def backoff(
    first: float = 0.5, factor: float = 2.0, longest: float = 10.0, chance: random.Random = CHANCE
) -> Iterator[float]:
    """Delays in seconds, growing up to `longest`; each with a tenth of jitter, so that parts do not return in step."""
    delay = first
    while True:
        yield jittered(delay, chance)
        delay = min(delay * factor, longest)


def jittered(seconds: float, chance: random.Random = CHANCE) -> float:
    """Up to a tenth more or less."""
    return seconds * chance.uniform(0.9, 1.1)
