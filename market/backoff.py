"""How long to wait between two attempts."""

import random
from collections.abc import Iterator


def backoff(first: float = 0.5, factor: float = 2.0, longest: float = 10.0) -> Iterator[float]:
    """Delays in seconds, growing up to `longest`; each with a tenth of jitter, so that parts do not return in step."""
    delay = first
    while True:
        yield delay * random.uniform(0.9, 1.1)  # noqa: S311 - jitter, no secret
        delay = min(delay * factor, longest)
