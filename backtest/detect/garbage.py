"""How often garbage is collected while a backtest trades."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MOST_YOUNG = 50_000
"""New objects after which garbage is collected: what a simulated trade makes is kept until its run is over."""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Collect garbage rarely while the context lasts."""
    before = gc.get_threshold()
    gc.set_threshold(MOST_YOUNG)
    try:
        yield
    finally:
        gc.set_threshold(*before)
