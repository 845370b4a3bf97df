"""What can go wrong with a feed or a file of recorded quotes, and what to do about it."""

from typing import Literal

LONGEST_SENTENCE = 1_000
"""Characters: two paths and a row, and not a damaged file whole."""

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


class FeedStaleError(FeedDroppedError):
    """Nothing came in time that shows the book to hold; the connection is of no more use."""


class BookMismatchError(FeedDroppedError):
    """The book by REST is repeatedly another than the stream's, which must have lost something unnoticed."""


class RestFailedError(FeedDroppedError):
    """REST did not give what was asked for; asking again later may."""


class FeedRefusedError(FeedError):
    """The exchange said no to the subscription; trying again changes nothing."""


class ImportRefusedError(Exception):
    """A recording cannot be used: one sentence that names the file, and the line where there is one.

    What it quotes of a file stays on that line, steers no terminal and does not fill the screen.
    """

    def __init__(self, sentence: str) -> None:
        plain = "".join(letter if letter.isprintable() else "?" for letter in sentence)
        super().__init__(plain if len(plain) <= LONGEST_SENTENCE else f"{plain[:LONGEST_SENTENCE]}…")
