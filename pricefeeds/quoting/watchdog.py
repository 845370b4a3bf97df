"""Decides when a feed is stale, from times in microseconds."""

from typing import Literal

Verdict = Literal["fine", "doubtful", "stale"]


class Watchdog:
    """Watches the liveness of a connection (any frame or pong) and the age of its book.

    `limit` is the maximum age of each. After half of it without a confirmed book the feed is doubtful: REST should be
    asked. `first_book` is the time limit for the first book.
    """

    def __init__(self, limit: int, first_book: int, now: int) -> None:
        self._limit = limit
        self._first_book = first_book
        self._opened_at = now
        self._alive_at = now
        self._held_at: int | None = None

    def connection_alive(self, now: int) -> None:
        """Record that a frame or a pong was received."""
        self._alive_at = now

    def book_held(self, now: int) -> None:
        """Record that the book was in force at `now`, which may be in the past."""
        self._held_at = now if self._held_at is None else max(now, self._held_at)

    def verdict(self, now: int) -> Verdict:
        if now - self._alive_at >= self._limit:
            return "stale"
        if self._held_at is None:
            return "stale" if now - self._opened_at >= self._first_book else "fine"
        book_age = now - self._held_at
        if book_age >= self._limit:
            return "stale"
        return "doubtful" if book_age >= self._limit // 2 else "fine"
