"""Order books of any exchange that ccxt knows: each one as ccxt has built it from a message, copied at once, as text.

ccxt hands out the live book, which the next messages change, and wakes whoever waits for it once for many messages.
So books are copied where ccxt resolves them. An error in one of its handlers ends its receiving without a word to
anybody; here it becomes a fault. It tells the end of a connection only to who waits at that moment; here it ends the
books. What a text looks like: `exchanges.ccxt.generic_book`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

import ccxt
from aiohttp import WSMsgType
from ccxt.async_support.base.ws.order_book import OrderBook

from exchanges.ccxt.client import ExchangeConfig, limit_rules, make_exchange
from exchanges.errors import (
    UNEXPECTED,
    AccountRejectedError,
    ExchangeError,
    ExchangeUnavailableError,
    StreamSilentError,
)
from exchanges.ports.error_mapping import read_error
from exchanges.ports.orders import AnswerNotUnderstoodError
from exchanges.requests.rate_budget import full_budget
from exchanges.requests.time_synced_signing import measure_clock
from market.money import decimal_of, text_of

LEVELS = 10
BookFault = Literal["malformed", "checksum"]
_FINAL = (ccxt.BadSymbol, ccxt.NotSupported, ccxt.ArgumentsRequired)
_LACKS_KEYS = 'requires "apiKey" credential'
"""ccxt's own words before it signs a subscription."""
_UNEXPECTED = (ccxt.BaseError, *UNEXPECTED)


class BookSource:
    """Books of one exchange. The requests of all its clients count against one budget."""

    def __init__(self, config: ExchangeConfig) -> None:
        """Read a simulated exchange, or a real one's public side. Raises AccountRejectedError if ccxt has no such
        exchange."""
        self._config = config
        self._budget = full_budget(config.exchange, limit_rules(config))
        self._client = self._new_client()
        self._loading = asyncio.Lock()

    @property
    def streams(self) -> bool:
        """Whether ccxt follows this exchange's books over a WebSocket."""
        return bool(self._client.has.get("watchOrderBook"))

    @property
    def seconds_a_request(self) -> float:
        """The pace that ccxt keeps, in seconds from one request to the next."""
        return float(self._client.rateLimit) / 1_000

    async def fetch(self, symbol: str) -> str:
        """Return the book by REST. Raises ExchangeUnavailableError, AccountRejectedError."""
        await self.load_markets()
        try:
            return book_text(await self._client.fetch_order_book(symbol))
        except _UNEXPECTED as error:
            raise _stream_error(self._config, error) from None

    def stream(self, symbol: str, keep_alive_seconds: float) -> "BookStream":
        """Return a connection of its own, on which nothing of an earlier one remains."""
        client = self._new_client()
        client.streaming = {**client.streaming, "keepAlive": int(keep_alive_seconds * 1_000)}
        return BookStream(client, symbol, self._prepare, lambda error: _stream_error(self._config, error))

    async def close(self) -> None:
        await self._client.close()

    def _new_client(self) -> Any:
        return make_exchange(self._config, budget=self._budget)

    async def _prepare(self, client: Any) -> None:
        """Give the client what REST knows already; measure the exchange's clock for signed subscriptions."""
        await self.load_markets()
        client.set_markets_from_exchange(self._client)
        if self._config.credentials is not None:
            with suppress(ccxt.BaseError, AnswerNotUnderstoodError):
                await measure_clock(client)

    async def load_markets(self) -> None:
        """Once. Raises ExchangeUnavailableError, AccountRejectedError."""
        async with self._loading:
            try:
                await self._client.load_markets()
            except _UNEXPECTED as error:
                raise _stream_error(self._config, error) from None


class BookStream:
    """One symbol's books over a WebSocket of its own, one after another. To be closed after an error."""

    def __init__(
        self,
        client: Any,
        symbol: str,
        prepare: Callable[[Any], Awaitable[None]],
        error_of: Callable[[Exception], ExchangeError],
    ) -> None:
        self._client = client
        self._symbol = symbol
        self._prepare = prepare
        self._error_of = error_of
        self._items: asyncio.Queue[str | ExchangeError] = asyncio.Queue()
        self._pong = asyncio.Event()
        self._connected = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Return once it is connected, or has failed, as `texts` then says. Raises ExchangeUnavailableError,
        AccountRejectedError."""
        await self._prepare(self._client)
        make_socket = self._client.client

        def observed_socket(url: str) -> Any:
            is_new = url not in (self._client.clients or {})
            socket = make_socket(url)
            if is_new:
                self._observe(socket)
            return socket

        self._client.client = observed_socket
        self._watching = asyncio.create_task(self._watch())
        connected = asyncio.create_task(self._connected.wait())
        await asyncio.wait({connected, self._watching}, return_when=asyncio.FIRST_COMPLETED)
        connected.cancel()

    async def texts(self) -> AsyncIterator[str]:
        """Books and faults; ends by raising ExchangeUnavailableError, AccountRejectedError."""
        while True:
            item = await self._items.get()
            if isinstance(item, ExchangeError):
                raise item
            yield item

    async def pong(self, seconds: float) -> None:
        """Return with the next pong: ccxt itself pings, in the exchange's own way. Raises StreamSilentError."""
        self._pong.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._pong.wait()
        except TimeoutError:
            raise StreamSilentError(f"no pong within {seconds:g} s") from None

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})
        await self._client.close()

    async def _watch(self) -> None:
        try:
            while True:
                await self._client.watch_order_book(self._symbol)
        except ccxt.ChecksumError as error:
            self._items.put_nowait(fault_text("checksum", str(error)))
        except _UNEXPECTED as error:
            self._items.put_nowait(self._error_of(error))

    def _observe(self, socket: Any) -> None:
        handle, resolve, reject = socket.handle_message, socket.resolve, socket.reject

        def handled(message: Any) -> None:
            last_pong = socket.lastPong
            try:
                handle(message)
            except _UNEXPECTED as error:
                self._items.put_nowait(fault_text("malformed", f"{type(error).__name__}: {error}"))
            # an exchange with a ping of its own answers by a text
            if message.type == WSMsgType.PONG or socket.lastPong != last_pong:
                self._pong.set()

        def resolved(result: Any, message_hash: str) -> Any:
            if isinstance(result, OrderBook) and result.get("symbol") == self._symbol:
                self._items.put_nowait(book_text(result))
            return resolve(result, message_hash)

        def rejected(error: Any, message_hash: str | None = None) -> Any:
            # the end of all; ccxt connects again by itself for who was not waiting at this moment
            if message_hash is None:
                self._items.put_nowait(self._error_of(error))
            return reject(error, message_hash)

        socket.handle_message, socket.resolve, socket.reject = handled, resolved, rejected
        socket.connected.add_done_callback(lambda _: self._connected.set())


def book_text(book: Mapping[str, Any]) -> str:
    """Return the best levels as they are now, each number in the shortest form of ccxt's float, which has the
    exchange's own digits up to fifteen of them."""
    sides = {side: [_level_texts(level) for level in book[side][:LEVELS]] for side in ("bids", "asks")}
    known = {name: book[name] for name in ("timestamp", "nonce") if book.get(name) is not None}
    return json.dumps({**sides, **known})


def fault_text(fault: BookFault, detail: str) -> str:
    return json.dumps({"fault": fault, "detail": detail[:200]})


def _level_texts(level: Sequence[float]) -> list[str]:
    """Return price and amount of [price, amount, …] as text."""
    return [text_of(decimal_of(number)) for number in level[:2]]


def _stream_error(config: ExchangeConfig, error: Exception) -> ExchangeError:
    """Whether to try again, or to give up. Rejected keys are tried again: exchanges say so of a ban, too."""
    if not isinstance(error, ccxt.BaseError):
        return ExchangeUnavailableError(f"{config.exchange} sent what ccxt cannot read: {type(error).__name__}")
    text = str(read_error(config.exchange, error, config.credentials))
    if isinstance(error, ccxt.RequestTimeout) and "ping-pong" in text:
        return StreamSilentError(text)
    if isinstance(error, _FINAL) or (isinstance(error, ccxt.AuthenticationError) and _LACKS_KEYS in text):
        return AccountRejectedError(f"{config.exchange} has no books for us: {text}")
    return ExchangeUnavailableError(text)
