"""What can go wrong with a feed, and what to do about it."""

from typing import Literal

FrameFault = Literal["malformed", "sequence_gap", "checksum"]


class FeedError(Exception):
    """A price feed cannot go on."""


class FeedDroppedError(FeedError):
    """The connection was lost, silent or talked nonsense; subscribing anew may succeed in a moment."""


class FrameRejectedError(FeedDroppedError):
    """One message cannot be true, or one before it was lost: the book is not to be believed until it is built anew."""

    def __init__(self, kind: FrameFault, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


class FeedStaleError(FeedDroppedError):
    """Nothing came in time that shows the book to hold; the connection is of no more use."""


class BookMismatchError(FeedDroppedError):
    """The book by REST is repeatedly another than the stream's, which must have lost something unnoticed."""


class RestFailedError(FeedDroppedError):
    """REST did not give what was asked for; asking again later may."""


class FeedRejectedError(FeedError):
    """The exchange said no to the subscription; trying again changes nothing."""
