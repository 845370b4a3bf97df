"""How long a feeder waits for what."""

from dataclasses import dataclass

from market.time_units import MICROSECONDS
from pricefeeds.feed.feed_session import FeedLimits

REST_LAG = 1.0


@dataclass(frozen=True, slots=True)
class FeedTimeouts:
    """Seconds."""

    stale_after: float = 3.0
    """How old the newest sign that a quote holds may be before it is withdrawn."""
    first_book: float = 10.0
    """From a new connection to its first believable book."""
    compare_every: float = 10.0
    """Between two comparisons with the book by REST, where the stream itself shows that something was lost."""
    rest_lag: float = REST_LAG
    """How far REST may be behind the stream: exchanges answer from a cache."""
    first_retry: float = 0.25
    longest_retry: float = 10.0

    @classmethod
    def of_limit(cls, stale_after: float) -> "FeedTimeouts":
        """All that is waited for fits into the limit."""
        return cls(stale_after, rest_lag=min(REST_LAG, stale_after / 3))

    @property
    def look_seconds(self) -> float:
        """Between two looks at the watchdog."""
        return self.stale_after / 20

    @property
    def compare_often(self) -> float:
        """Between two comparisons where the stream does not show that something was lost: seldom enough for the limits
        of exchanges, and so often that a wrong book is doubted twice within `stale_after`."""
        return min(self.compare_every, self.stale_after / 6)

    @property
    def compare_again(self) -> float:
        """Between the two looks of a comparison."""
        return self.stale_after / 20

    @property
    def stream_lag(self) -> float:
        """How far the stream may be behind REST: some gather changes for a tenth of a second."""
        return max(0.1, self.stale_after / 12)

    @property
    def rest_seconds(self) -> float:
        """For one answer by REST, so that a doubt is settled within the limit."""
        return self.stale_after / 3

    @property
    def late_after(self) -> int:
        """Microseconds: how old a book may be by its own time."""
        return int(self.stale_after * MICROSECONDS)

    @property
    def limits(self) -> FeedLimits:
        """A look, and on a busy machine another, lies between the moment at which a feed becomes stale and the one at
        which that is noticed."""
        stale_after = int((self.stale_after - 2 * self.look_seconds) * MICROSECONDS)
        looks = 2 * (self.rest_seconds + self.stream_lag) + self.compare_again
        kept = self.rest_lag + looks + self.stream_lag
        return FeedLimits(stale_after, int(self.first_book * MICROSECONDS), int(kept * MICROSECONDS))
