"""Books of any exchange that ccxt knows: by its stream if ccxt has one, otherwise by REST, again and again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from exchanges.books.errors import FeedDroppedError, FeedRejectedError
from exchanges.books.port import Conversation
from exchanges.ccxt.book_stream import BookSource, BookStream
from exchanges.ccxt.client import public_config, simulated_config
from exchanges.ccxt.generic_book import GenericWire
from exchanges.credentials import Credentials
from exchanges.errors import AccountRejectedError, ExchangeError, StreamSilentError
from market.instruments.markets import Market
from pricefeeds.errors import FeedStaleError, RestFailedError
from pricefeeds.feed.rest_checks import seconds_between_comparisons
from pricefeeds.feed.rest_reader import RestAnswer, RestTurns
from pricefeeds.feed.source import FeedSource, RestSource, StreamConnection
from runtime.clock import Clock, SystemClock
from session.session import Session

FEEDS_SHARE = 2
"""The bot on the same address has the other half of ccxt's pace."""
PINGS = 4 / 3
"""Within `rest_seconds`: often enough that an answer comes within half the limit."""


class GenericRest:
    """One exchange's books by ccxt's REST, within a timeout and ccxt's pace."""

    def __init__(self, books: BookSource, clock: Clock, seconds: float, pace: float) -> None:
        self._books = books
        self._clock = clock
        self._seconds = seconds
        self._turns = RestTurns("ccxt", seconds, pace)

    async def get(self, path: str, patience: float = 0.0) -> RestAnswer:
        """`path`: the symbol."""
        await self._turns.wait(patience)
        sent = self._clock.now()
        try:
            async with asyncio.timeout(self._seconds):
                text = await self._books.fetch(path)
        except TimeoutError as error:
            raise RestFailedError(f"the book of {path} did not come in time") from error
        except ExchangeError as error:
            raise RestFailedError(str(error)) from error
        return RestAnswer(text.encode(), sent, self._clock.now())


class StreamedBooks:
    """ccxt's stream as a connection."""

    def __init__(self, stream: BookStream) -> None:
        self._stream = stream

    async def frames(self) -> AsyncIterator[bytes]:
        try:
            async for text in self._stream.texts():
                yield text.encode()
        except ExchangeError as error:
            raise feed_error(error) from error

    async def send(self, text: str) -> None:
        """Not used: ccxt subscribes itself."""

    async def ping(self, seconds: float) -> None:
        try:
            await self._stream.pong(seconds)
        except StreamSilentError as error:
            raise FeedStaleError(str(error)) from error


class PolledBooks:
    """A book by REST every `every` seconds as a connection. One that fails ends it."""

    def __init__(self, rest: RestSource, symbol: str, every: float) -> None:
        self._rest = rest
        self._symbol = symbol
        self._every = every

    async def frames(self) -> AsyncIterator[bytes]:
        while True:
            yield (await self._rest.get(self._symbol)).body
            await SystemClock().sleep(self._every)

    async def send(self, text: str) -> None:
        """Not used: nothing is subscribed to."""

    async def ping(self, seconds: float) -> None:
        """Each answer shows that the exchange is there; there is nothing else to ask."""


@dataclass(frozen=True, slots=True)
class GenericSource:
    """One exchange's books through ccxt."""

    wire: GenericWire
    rest: GenericRest
    books: BookSource
    rest_seconds: float
    poll_seconds: float
    compare_seconds: float
    credentials: Credentials | None

    @property
    def streams(self) -> bool:
        return self.books.streams

    def conversation(self, market: Market) -> Conversation:
        return self.wire.conversation(market, self.credentials)

    @asynccontextmanager
    async def connected(self, market: Market) -> AsyncIterator[StreamConnection]:
        if not self.streams:
            # the list of markets may take longer than a book may
            await _rejecting(self.books.load_markets())
            yield PolledBooks(self.rest, market.symbol, self.poll_seconds)
            return
        stream = self.books.stream(market.symbol, self.rest_seconds / PINGS)
        try:
            await _rejecting(stream.open())
            yield StreamedBooks(stream)
        finally:
            await stream.close()


@asynccontextmanager
async def generic_source(
    session: Session, exchange: str, clock: Clock, rest_seconds: float
) -> AsyncIterator[FeedSource]:
    """`rest_seconds`: a third of the limit of staleness. Raises FeedRejectedError if ccxt has no such exchange, or
    cannot show its books often enough within the limit."""
    books, keys = _books(session, exchange)
    is_lifted = session.simulated.url is not None and not session.simulated.rate_limits
    pace = 0.0 if is_lifted else books.seconds_a_request * FEEDS_SHARE * session.entry_of(exchange).at_one_address
    symbols = len(session.markets_of(exchange))
    poll_seconds = max(rest_seconds / 2, pace * symbols)
    try:
        if not books.streams and poll_seconds > rest_seconds * 2:
            raise FeedRejectedError(
                f"{exchange} has no stream in ccxt, and {symbols} books by REST would come {poll_seconds:g} s apart, "
                f"too seldom; trade fewer of its markets"
            )
        rest = GenericRest(books, clock, rest_seconds, pace)
        compare_seconds = seconds_between_comparisons(symbols, pace, rest_seconds)
        yield GenericSource(GenericWire(), rest, books, rest_seconds, poll_seconds, compare_seconds, keys)
    finally:
        await books.close()


async def _rejecting(request: Awaitable[None]) -> None:
    """Raise FeedDroppedError, FeedRejectedError."""
    try:
        await request
    except ExchangeError as error:
        raise feed_error(error) from error


def feed_error(error: ExchangeError) -> FeedDroppedError | FeedRejectedError:
    if isinstance(error, AccountRejectedError):
        return FeedRejectedError(str(error))
    return FeedStaleError(str(error)) if isinstance(error, StreamSilentError) else FeedDroppedError(str(error))


def _books(session: Session, exchange: str) -> tuple[BookSource, Credentials | None]:
    """With the test account of a simulated exchange, since some sign their subscriptions; never with other keys."""
    url, entry = session.simulated.url, session.entry_of(exchange)
    try:
        config = (
            public_config(session, exchange)
            if url is None
            else simulated_config(exchange, url, session.home, is_limited=session.simulated.rate_limits, entry=entry)
        )
        return BookSource(config), config.credentials
    except AccountRejectedError as error:
        raise FeedRejectedError(str(error)) from error
