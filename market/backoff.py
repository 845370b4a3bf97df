"""How long to wait between two attempts; the one schedule of every room."""

from collections.abc import Iterator


def backoff(first: float = 0.5, factor: float = 2.0, longest: float = 10.0) -> Iterator[float]:
    """Delays in seconds, growing up to `longest`, without end."""
    delay = first
    while True:
        yield min(delay, longest)
        delay = min(delay * factor, longest)
