"""When a snapshot is fetched by REST for a stream that sends changes only, and when fetching is given up."""

from exchanges.books.errors import FeedDroppedError, FrameRejectedError
from exchanges.books.port import FetchSnapshot, WireOutput
from market.time_units import MICROSECONDS

MAX_FETCHES = 8
RETRY_AFTER = MICROSECONDS // 2
"""REST answers come from a cache that may lag the stream by a second: an immediate retry returns the same book."""
MAX_WAITING = 10_000
"""Maximum number of changes that wait for a snapshot: minutes of a busy market."""


class SnapshotFetches:
    """Bounded and paced fetches of one book."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fetches = 0
        self._due_at: int | None = 0
        """None while a fetch is under way."""

    def due(self, now: int, waiting: int) -> list[WireOutput]:
        """Return the fetch to make now, if any, while `waiting` changes have no snapshot yet. Raises
        FeedDroppedError."""
        if waiting > MAX_WAITING:
            raise FeedDroppedError(f"{self._path} was not answered while {waiting} changes were received")
        if self._due_at is None or now < self._due_at:
            return []
        self._due_at = None
        self._fetches += 1
        return [FetchSnapshot(self._path)]

    def came_too_old(self, now: int) -> None:
        """Ask again: the snapshot is older than the first change. Raises FrameRejectedError after the last try."""
        if self._fetches >= MAX_FETCHES:
            raise FrameRejectedError("sequence_gap", f"{self._path} is behind the stream after {MAX_FETCHES} fetches")
        self._due_at = now + RETRY_AFTER
