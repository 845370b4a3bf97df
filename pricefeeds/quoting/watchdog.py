"""When a feed is no longer to be believed: decided from times alone, in microseconds."""

from typing import Literal

Verdict = Literal["fine", "doubtful", "stale"]


class Watchdog:
    """Watches two channels of one connection: the connection itself (any frame or pong) and the book.

    `limit` is how old the last sign of each may be. After half of it without a book that is known to hold, the feed is
    doubtful: the exchange should be asked by another way. `first_book` bounds the wait for the first one.
    """

    def __init__(self, limit: int, first_book: int, now: int) -> None:
        self._limit = limit
        self._first_book = first_book
        self._opened_at = now
        self._heard_at = now
        self._held_at: int | None = None

    def hear(self, now: int) -> None:
        """The connection lives."""
        self._heard_at = now

    def hold(self, now: int) -> None:
        """The book is known to have held at `now`, which may lie back."""
        self._held_at = now if self._held_at is None else max(now, self._held_at)

    def verdict(self, now: int) -> Verdict:
        if now - self._heard_at >= self._limit:
            return "stale"
        if self._held_at is None:
            return "stale" if now - self._opened_at >= self._first_book else "fine"
        silence = now - self._held_at
        if silence >= self._limit:
            return "stale"
        return "doubtful" if silence >= self._limit // 2 else "fine"
