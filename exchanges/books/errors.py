"""Errors of an exchange's books, and whether a feed retries."""

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


class MessageLostError(FrameRejectedError):
    """A message of a connection of many symbols was lost, of whichever of them."""

    def __init__(self, detail: str) -> None:
        super().__init__("sequence_gap", detail)
        self.detail = detail


class FeedRejectedError(FeedError):
    """The exchange rejected the subscription; a retry changes nothing."""
