"""The store's clock as this process knows it: never behind it, whatever becomes of the wall clock."""

from collections.abc import Callable
from dataclasses import dataclass

from session.clock import steady_now

RESOLUTION = 1_000
"""Microseconds in which the store's clock goes on."""


@dataclass(slots=True)
class ServerClock:
    """Counts on by the steady clock, which keeps running while the process is suspended, from the last reading."""

    steady_clock: Callable[[], int] = steady_now
    _ahead: int | None = None

    def observe(self, server_now: int, asked_at: int) -> None:
        """The store said that it was `server_now` in an answer to a request of `asked_at`, by the steady clock."""
        self._ahead = server_now + RESOLUTION - asked_at

    def latest(self) -> int | None:
        """The latest that it may be now, by the store's clock, microseconds; None before the first reading."""
        return None if self._ahead is None else self.steady_clock() + self._ahead
