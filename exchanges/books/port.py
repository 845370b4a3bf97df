"""The parser of one exchange's stream: frames in, requests and books out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from exchanges.books.stream_sharing import StreamSharing
from exchanges.credentials import Credentials
from market.instruments.markets import Market
from market.prices.book_top import BookTop


@dataclass(frozen=True, slots=True)
class Send:
    """Send this text over the socket."""

    text: str


@dataclass(frozen=True, slots=True)
class FetchSnapshot:
    """GET the exchange's REST address + `path`; the body goes to `take_snapshot`."""

    path: str


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The stream is alive and the book is unchanged."""


WireOutput = Send | FetchSnapshot | Heartbeat | BookTop
"""A BookTop is the book after the message, whether its ten best levels changed or not."""


class Conversation(Protocol):
    """Parses one connection's messages about one symbol's book; times are microseconds UTC.

    Create one per connection and discard it after an error. Frames must be passed in the order of receipt.
    All three raise FrameRejectedError, FeedDroppedError and FeedRejectedError, and nothing else.
    """

    def open(self, now: int) -> list[WireOutput]:
        """Return the first requests on a new connection."""
        ...

    def take_frame(self, frame: str | bytes, now: int) -> list[WireOutput]: ...

    def take_snapshot(self, body: bytes, now: int) -> list[WireOutput]: ...


@dataclass(frozen=True, slots=True)
class ServerTime:
    """Where the exchange publishes its time."""

    path: str
    parse: Callable[[bytes], int]
    """Microseconds UTC. Raises FrameRejectedError, FeedDroppedError, FeedRejectedError."""
    step: int = 1
    """Its resolution in microseconds: the true time is up to this much later."""


@dataclass(frozen=True, slots=True)
class WireExchange:
    """The reader of one exchange's books; paths begin with a slash."""

    name: str
    conversation: Callable[[Market, Credentials | None], Conversation]
    """Raises FeedRejectedError if the stream needs API keys that are missing or invalid."""
    rest_book: Callable[[Market], str]
    """Path of the REST order book."""
    parse_rest_book: Callable[[bytes], BookTop]
    """Raises FrameRejectedError, FeedDroppedError."""
    sharing: StreamSharing | None = None
    """None if each symbol needs a connection of its own."""
    server_time: ServerTime | None = None
    """None if the exchange publishes no time."""
    detects_loss: bool = False
    """Whether a sequence or a checksum shows that a message was lost. Otherwise only the REST book can."""
