"""The port of one exchange's books; two adapters: our own readers of its stream, and ccxt."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from exchanges.books.port import Conversation, ServerTime
from exchanges.credentials import Credentials
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from pricefeeds.feed.rest_reader import RestAnswer


class StreamConnection(Protocol):
    """One connection. Every failure is a FeedDroppedError, or a FeedRejectedError if trying again changes
    nothing."""

    def frames(self) -> AsyncIterator[bytes]:
        """Messages in the order of receipt; ends by raising."""
        ...

    async def send(self, text: str) -> None: ...

    async def ping(self, seconds: float) -> None:
        """Return with a pong. Raises FeedStaleError if none comes in time."""
        ...


class RestSource(Protocol):
    async def get(self, path: str, patience: float = 0.0) -> RestAnswer:
        """`patience`: seconds that it may wait for its turn, beyond the usual. Raises RestFailedError."""
        ...


class BookParser(Protocol):
    """How one exchange's books are parsed: `WireExchange`, or `GenericWire`."""

    @property
    def server_time(self) -> ServerTime | None: ...

    @property
    def detects_loss(self) -> bool: ...

    def rest_book(self, market: Market, /) -> str: ...

    def parse_rest_book(self, body: bytes, /) -> BookTop: ...


class FeedSource(Protocol):
    """Where one exchange's books come from."""

    @property
    def wire(self) -> BookParser: ...

    @property
    def rest(self) -> RestSource: ...

    @property
    def credentials(self) -> Credentials | None: ...

    @property
    def streams(self) -> bool:
        """False if every book is fetched by REST, so that a comparison with REST would show nothing more."""
        ...

    @property
    def compare_seconds(self) -> float:
        """The least interval of the REST comparisons of one symbol."""
        ...

    def connected(self, market: Market) -> AbstractAsyncContextManager[StreamConnection]:
        """Raise FeedDroppedError if it cannot connect, FeedRejectedError."""
        ...

    def conversation(self, market: Market) -> Conversation:
        """For one connection. Raises FeedRejectedError if the stream needs API keys that are missing."""
        ...
