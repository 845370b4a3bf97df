"""How long a feeder waits for what."""

from dataclasses import dataclass

from market.clock import MICROSECONDS
from pricefeeds.listener import Limits


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds."""

    stale_after: float = 3.0
    """How old the newest sign that a quote holds may be before it is withdrawn."""
    first_book: float = 10.0
    """From a new connection to its first believable book."""
    compare_every: float = 10.0
    """Between two comparisons with the book by REST, where messages carry a time that can be checked; where they do
    not, the comparison shows a stream that lags, and is due within `stale_after`."""
    compare_again: float = 1.0
    """After a comparison that failed: the second in a row ends the connection."""
    compare_slack: float = 1.0
    """How far the stream may be before or behind REST."""
    first_retry: float = 0.25
    longest_retry: float = 10.0

    @property
    def look_seconds(self) -> float:
        """Between two looks at the watchdog."""
        return self.stale_after / 20

    @property
    def rest_seconds(self) -> float:
        """For one answer by REST, so that a doubt is settled within the limit."""
        return self.stale_after / 3

    @property
    def late_after(self) -> int:
        """Microseconds: how old a book may be by its own time."""
        return int(self.stale_after * MICROSECONDS)

    @property
    def limits(self) -> Limits:
        """A look lies between the moment at which a feed becomes stale and the one at which that is noticed."""
        stale_after = int((self.stale_after - self.look_seconds) * MICROSECONDS)
        kept = 2 * self.compare_slack + self.rest_seconds + 1.0
        return Limits(stale_after, int(self.first_book * MICROSECONDS), int(kept * MICROSECONDS))
