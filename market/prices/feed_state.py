"""State and counters of one feed."""

from dataclasses import dataclass, field, replace
from typing import Literal

FeedStatus = Literal["live", "stale", "resyncing", "down"]
FeedCounter = Literal[
    "gaps", "checksums", "malformed", "resyncs", "reconnects", "rest_checks", "rest_mismatches", "rest_failures"
]

SAVED_WITHIN = 6_000_000
"""Microseconds, and more than it takes a feeder to save a state and a reader to get it."""


@dataclass(frozen=True, slots=True)
class FeedState:
    """State and counters of one feed since its process started; times in microseconds UTC.

    live: the newest quote is known to hold; stale: no valid message came within the limit; resyncing: a connection is
    there and its book is being built; down: there is no connection.
    """

    exchange: str
    region: str
    symbol: str
    status: FeedStatus
    changed_at: int
    last_received: int
    quotes: int = 0
    reconnects: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    """Reason → books that were no quotes."""
    gaps: int = 0
    """Sequence gaps: messages that show that others were lost."""
    checksums: int = 0
    """Books that fail the exchange's checksum."""
    malformed: int = 0
    """Messages that cannot be read."""
    resyncs: int = 0
    """Connections dropped to resync the book."""
    rest_checks: int = 0
    """Comparisons of the stream's book with the one by REST."""
    rest_mismatches: int = 0
    rest_failures: int = 0
    """Comparisons that found no answer."""
    offset_us: int | None = None
    """How far the exchange's clock is ahead of ours; None until it is known."""

    def as_seen(self, now: int, stale_after_ms: int) -> "FeedState":
        """Return what it says to a reader at `now`: a live feed receives, or is confirmed, within `stale_after_ms` and
        says so two seconds later; if that is long over its process is gone and took nothing back."""
        if self.status != "live" or now - self.last_received <= stale_after_ms * 1_000 + SAVED_WITHIN:
            return self
        return replace(self, status="down", changed_at=self.last_received)

    def counted(self, counter: FeedCounter) -> "FeedState":
        return replace(self, **{counter: getattr(self, counter) + 1})
