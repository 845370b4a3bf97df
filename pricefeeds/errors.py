"""What can go wrong with a feed or a file of recorded quotes, and what to do about it."""

from typing import Literal

FrameFault = Literal["malformed", "sequence_gap", "checksum"]


class FeedError(Exception):
    """A price feed cannot go on."""


class FeedDroppedError(FeedError):
    """The connection was lost, silent or talked nonsense; subscribing anew may succeed in a moment."""


class FrameRefusedError(FeedDroppedError):
    """One message cannot be true, or one before it was lost: the book is not to be believed until it is built anew."""

    def __init__(self, kind: FrameFault, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


class FeedRefusedError(FeedError):
    """The exchange said no to the subscription; trying again changes nothing."""


class ImportRefusedError(Exception):
    """A recording cannot be used: one sentence that names the file, and the line where there is one."""
