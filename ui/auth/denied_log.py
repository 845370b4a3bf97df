"""Who was turned away, in the log: one line for many, since a flood must not fill it."""

import logging
from collections.abc import Callable

from market.time_units import MICROSECONDS
from session.clock import steady_now

QUIET_SECONDS = 10

log = logging.getLogger("ui")


class DeniedLog:
    """Says the first at once, and the next after `QUIET_SECONDS` with the number of those between."""

    def __init__(self, what: str, now: Callable[[], int] = steady_now) -> None:
        self._what = what
        self._now = now
        self._published_at: int | None = None
        self._untold = 0

    def note(self, address: str, why: str) -> None:
        self._untold += 1
        now = self._now()
        if self._published_at is not None and now - self._published_at < QUIET_SECONDS * MICROSECONDS:
            return
        log.warning(f"{self._what} rejected", extra={"client": address, "why": why, "count": self._untold})
        self._published_at, self._untold = now, 0
