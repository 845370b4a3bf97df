"""Logs rejected connections at a limited rate, so that a flood does not fill the log."""

import logging
from collections.abc import Callable

from market.time_units import MICROSECONDS
from runtime.clock import steady_now

QUIET_SECONDS = 10

log = logging.getLogger("ui")


class DeniedLog:
    """Logs the first rejection at once, and the next after `QUIET_SECONDS`, with the number in between."""

    def __init__(self, what: str, now: Callable[[], int] = steady_now) -> None:
        self._what = what
        self._now = now
        self._logged_at: int | None = None
        self._unlogged = 0

    def record(self, address: str, why: str) -> None:
        self._unlogged += 1
        now = self._now()
        if self._logged_at is not None and now - self._logged_at < QUIET_SECONDS * MICROSECONDS:
            return
        log.warning(f"{self._what} rejected", extra={"client": address, "why": why, "count": self._unlogged})
        self._logged_at, self._unlogged = now, 0
