"""Errors of a feed's connection, after which it connects again."""

from exchanges.books.errors import FeedDroppedError


class FeedStaleError(FeedDroppedError):
    """Nothing confirmed the book in time; the connection is dropped."""


class BookMismatchError(FeedDroppedError):
    """The REST book differs repeatedly from the stream's: the stream lost a message without noticing."""


class RestFailedError(FeedDroppedError):
    """A REST request failed; a later one may succeed."""
