"""When a book that a stream only tells changes of is fetched by REST, and when fetching it again makes no sense."""

from market.time_units import MICROSECONDS
from pricefeeds.errors import FeedDroppedError, FrameRejectedError
from pricefeeds.wire.wire_port import FetchSnapshot, Heard

MAX_FETCHES = 8
RETRY_AFTER = MICROSECONDS // 2
"""REST answers come from a cache that may be a second behind the stream: asked again at once, it says the same."""
MAX_WAITING = 10_000
"""Changes kept for a snapshot that does not come: minutes of a busy market."""


class SnapshotFetches:
    """Bounded and paced fetches of one book."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fetches = 0
        self._due_at: int | None = 0
        """None while a fetch is under way."""

    def due(self, now: int, waiting: int) -> list[Heard]:
        """The fetch to make now, if any, while `waiting` changes have no book yet. Raises FeedDroppedError."""
        if waiting > MAX_WAITING:
            raise FeedDroppedError(f"{self._path} was not answered while {waiting} changes came")
        if self._due_at is None or now < self._due_at:
            return []
        self._due_at = None
        self._fetches += 1
        return [FetchSnapshot(self._path)]

    def came_too_old(self, now: int) -> None:
        """The snapshot does not reach the first change that we have. Raises FrameRejectedError for the last try."""
        if self._fetches >= MAX_FETCHES:
            raise FrameRejectedError("sequence_gap", f"{self._path} is behind the stream after {MAX_FETCHES} fetches")
        self._due_at = now + RETRY_AFTER
