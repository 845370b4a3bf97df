"""Errors of a price feed, and whether the feed retries."""

from typing import Literal

FrameFault = Literal["malformed", "sequence_gap", "checksum"]


class FeedError(Exception):
    """A price feed cannot continue."""


class FeedDroppedError(FeedError):
    """The connection was lost, went silent or sent an invalid message; a new subscription may succeed in a moment."""


class FrameRejectedError(FeedDroppedError):
    """A message is invalid, or one before it was lost: the book is withdrawn until it is resynced."""

    def __init__(self, kind: FrameFault, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


class FeedStaleError(FeedDroppedError):
    """Nothing confirmed the book in time; the connection is dropped."""


class BookMismatchError(FeedDroppedError):
    """The REST book differs repeatedly from the stream's: the stream lost a message without noticing."""


class RestFailedError(FeedDroppedError):
    """A REST request failed; a later one may succeed."""


class FeedRejectedError(FeedError):
    """The exchange rejected the subscription; a retry changes nothing."""
