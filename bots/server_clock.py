"""The store's clock as this process knows it, whatever becomes of the wall clock: a bound that is never behind it, by
which orders are held back, and the best estimate, by which their times are recorded."""

from collections.abc import Callable
from dataclasses import dataclass

from runtime.clock import steady_now

RESOLUTION = 1_000
"""Microseconds in which the store's clock goes on."""


@dataclass(slots=True)
class ServerClock:
    """Counts on by the steady clock, which keeps running while the process is suspended, from the last reading."""

    steady_clock: Callable[[], int] = steady_now
    _ahead: int | None = None
    _within: tuple[int, int] | None = None
    """How far the store's clock is ahead of the steady one, least and most, by all answers that agree."""

    def observe(self, server_now: int, asked_at: int) -> None:
        """Take `server_now` from an answer that has just come to a request of `asked_at`, by the steady clock."""
        least, self._ahead = server_now - self.steady_clock(), server_now + RESOLUTION - asked_at
        most = self._ahead
        if self._within is not None:
            # answers that do not agree: one of the clocks was set, or has drifted
            both = max(least, self._within[0]), min(most, self._within[1])
            least, most = both if both[0] <= both[1] else (least, most)
        self._within = least, most

    def latest(self) -> int | None:
        """Return the latest that it may be now, by the store's clock, microseconds; None before the first reading."""
        return None if self._ahead is None else self.steady_clock() + self._ahead

    def about(self) -> int | None:
        """Return the estimate: an answer that was long on its way moves it no further than shorter ones allow (as
        Marzullo's algorithm intersects intervals, https://en.wikipedia.org/wiki/Marzullo%27s_algorithm)."""
        return None if self._within is None else self.steady_clock() + sum(self._within) // 2
