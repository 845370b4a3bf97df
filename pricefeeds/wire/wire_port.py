"""What reads one exchange's stream: a conversation that hears frames and says what to do, or what the book is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from exchanges.exchange_credentials import Credentials
from market.instruments.markets import Market
from market.prices.book_top import BookTop


@dataclass(frozen=True, slots=True)
class Send:
    """Text for the socket, now."""

    text: str


@dataclass(frozen=True, slots=True)
class FetchSnapshot:
    """GET the exchange's REST address + `path`; the body goes to `take_snapshot`."""

    path: str


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The stream says that it lives; the book is what it was."""


Heard = Send | FetchSnapshot | Heartbeat | BookTop
"""A BookTop is the book as it stands after the message, whether its ten best levels changed or not."""


class Conversation(Protocol):
    """One connection about one symbol's book; times are microseconds UTC.

    A new one per connection: after an error it is of no more use. Frames must come in the order they were received.
    All three raise FrameRejectedError, FeedDroppedError and FeedRejectedError, and nothing else.
    """

    def open(self, now: int) -> list[Heard]:
        """What to do first on a new connection."""
        ...

    def hear(self, frame: str | bytes, now: int) -> list[Heard]: ...

    def take_snapshot(self, body: bytes, now: int) -> list[Heard]: ...


@dataclass(frozen=True, slots=True)
class WireExchange:
    """How one exchange's books are reached and read. Paths and prefixes begin with a slash."""

    name: str
    live_ws: str
    live_rest: str
    ws_path: str
    """Of the simulated exchange, below the simulator's address."""
    rest_prefix: str
    """Of the simulated exchange, below the simulator's address; the live paths follow it."""
    conversation: Callable[[Market, Credentials | None], Conversation]
    """Raises FeedRejectedError where the stream needs keys that are missing or unusable."""
    rest_book: Callable[[Market], str]
    """The path of the whole book by REST."""
    parse_rest_book: Callable[[bytes], BookTop]
    """Raises FrameRejectedError, FeedDroppedError."""
    server_time: str | None
    """The path of the exchange's clock; None where it shows none."""
    parse_server_time: Callable[[bytes], int]
    """Microseconds UTC. Raises FrameRejectedError."""
    server_time_step: int = 1
    """Microseconds between two values that this clock can show: the true time is up to so much later."""
    detects_loss: bool = False
    """Whether the next message shows that one was lost, by a sequence or a checksum. Where it does not, only the book
    by REST can."""
    live_rest_pace: float = 0.2
    """Seconds that a feeder leaves between two questions to the real exchange's REST, for all symbols together: less
    than it allows, since orders and balances may count against the same limit."""
