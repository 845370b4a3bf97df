"""Timeouts and intervals of a feeder."""

from dataclasses import dataclass, replace

from market.time_units import MICROSECONDS
from pricefeeds.feed.session import FeedLimits

REST_LAG = 1.0


@dataclass(frozen=True, slots=True)
class FeedTimeouts:
    """Seconds."""

    stale_after: float = 3.0
    """A quote that nothing confirmed for this long is withdrawn."""
    first_book: float = 10.0
    """Time limit from a new connection to its first accepted book."""
    compare_every: float = 10.0
    """Interval of the REST comparisons, for streams that show lost messages themselves."""
    rest_lag: float = REST_LAG
    """Maximum lag of REST behind the stream: exchanges answer from a cache."""
    first_retry: float = 0.25
    longest_retry: float = 10.0

    @classmethod
    def of_limit(cls, stale_after: float) -> "FeedTimeouts":
        """Timeouts that all fit into the staleness limit."""
        return cls(stale_after, rest_lag=min(REST_LAG, stale_after / 3))

    def of_many(self, compare_seconds: float) -> "FeedTimeouts":
        """For symbols of which each is compared so seldom: the last of their snapshots waits for all the others."""
        return replace(self, first_book=max(self.first_book, compare_seconds))

    @property
    def check_seconds(self) -> float:
        """Interval of the watchdog checks."""
        return self.stale_after / 20

    @property
    def compare_often(self) -> float:
        """Interval of the REST comparisons for streams that do not show lost messages: rare enough for the exchanges'
        rate limits, and frequent enough that a wrong book is found twice within `stale_after`."""
        return min(self.compare_every, self.stale_after / 6)

    @property
    def compare_again(self) -> float:
        """Interval between the two checks of a comparison."""
        return self.stale_after / 20

    @property
    def stream_lag(self) -> float:
        """Maximum lag of the stream behind REST: some exchanges batch changes for a tenth of a second."""
        return max(0.1, self.stale_after / 12)

    @property
    def rest_seconds(self) -> float:
        """Timeout of one REST request, short enough that a check ends within the staleness limit."""
        return self.stale_after / 3

    @property
    def late_after(self) -> int:
        """Microseconds: maximum age of a book by its own time."""
        return int(self.stale_after * MICROSECONDS)

    @property
    def limits(self) -> FeedLimits:
        """Two watchdog checks are subtracted: staleness is noticed at the next check, on a busy machine at the one
        after."""
        stale_after = int((self.stale_after - 2 * self.check_seconds) * MICROSECONDS)
        checks_take = 2 * (self.rest_seconds + self.stream_lag) + self.compare_again
        keep = self.rest_lag + checks_take + self.stream_lag
        return FeedLimits(stale_after, int(self.first_book * MICROSECONDS), int(keep * MICROSECONDS))
