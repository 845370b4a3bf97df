"""Order books through ccxt.pro: one connection per symbol, so that a fault of one feed stays with it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import ccxt

from pricefeeds.books import BookTop, book_top
from pricefeeds.errors import FeedDroppedError, FeedRefusedError

MakeClient = Callable[[], Any]
"""A new ccxt.pro exchange object; untyped, as ccxt is."""

REFUSALS = (ccxt.AuthenticationError, ccxt.BadSymbol, ccxt.NotSupported, ccxt.ArgumentsRequired)
"""What trying again does not change. Any other ExchangeError may be a passing one: bitstamp's late REST snapshot is."""
CLOSE_TIMEOUT_SECONDS = 0.5


class CcxtBooks:
    """Opens streams of one symbol, each on an exchange object of its own that dies with it.

    Throwing the whole object away is the teardown: a receive loop that died of a bad frame, a half-known book and
    ccxt's own dial back-off go with it.
    """

    def __init__(self, make_client: MakeClient, symbol: str) -> None:
        self._make_client = make_client
        self._symbol = symbol
        self._loaded: Any = None
        """A closed exchange object, kept for its table of markets: loading it costs two or more calls."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncIterator[BookTop]]:
        """Books while the connection lasts. Opening and reading raise FeedDroppedError, FeedRefusedError."""
        client = self._make_client()
        # close() otherwise sleeps this long, in milliseconds.
        client.timeout_on_exit = 0
        try:
            yield self._books(client)
        finally:
            await _close(client)

    async def _books(self, client: Any) -> AsyncIterator[BookTop]:
        try:
            await self._load_markets(client)
            while True:
                book = await client.watch_order_book(self._symbol)
                yield book_top(book["bids"], book["asks"], book["timestamp"])
        except REFUSALS as error:
            raise FeedRefusedError(f"{client.id} refused {self._symbol}: {error}") from error
        except ccxt.BaseError as error:
            raise FeedDroppedError(f"{client.id} {self._symbol}: {error}") from error
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise FeedDroppedError(f"{client.id} {self._symbol} sent what is no book: {error!r}") from error

    async def _load_markets(self, client: Any) -> None:
        if self._loaded is None:
            await client.load_markets()
            self._loaded = client
        else:
            client.set_markets_from_exchange(self._loaded)


async def _close(client: Any) -> None:
    """Close within a second: aiohttp waits ten for a closing handshake that a silent peer never answers.

    The second call finds the socket dropped by the first and closes the session behind it.
    """
    for _ in range(2):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await client.close()
                return
