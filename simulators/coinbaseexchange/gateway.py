"""Coinbase Exchange's wire protocol: REST with signed headers, and its stream."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid5

from aiohttp import web

from exchanges.credentials import Credentials
from market.time_units import MICROSECONDS
from simulators.coinbaseexchange.accounts import CoinbaseExchangeAccounts
from simulators.coinbaseexchange.limits import RATES
from simulators.coinbaseexchange.orders import CoinbaseExchangeOrders
from simulators.coinbaseexchange.pages import moment_in, page_reply
from simulators.coinbaseexchange.rejections import rejection
from simulators.coinbaseexchange.rows import (
    IDS,
    book_level_rows,
    book_order_rows,
    candle_row,
    currency_row,
    product_row,
    trade_row,
)
from simulators.coinbaseexchange.stream import CoinbaseExchangeStream, ProductFeed
from simulators.matching.candles import Interval
from simulators.matching.listings import fixed_text
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.trade_tape import KEPT
from simulators.matching.venue import Names
from simulators.web.exchange_gateway import (
    MarketStep,
    SimulatedGateway,
    best_texts,
    count_field,
    guarded,
    iso_text,
    json_reply,
)
from simulators.web.signatures import CoinbaseExchangeSignature, SignedRequest
from simulators.web.subscribers import SubscriberConnection

NAME = "coinbaseexchange"
_GRANULARITIES = (60, 300, 900, 3_600, 21_600, 86_400)
_MOST_CANDLES = 300
_TOO_MANY_CANDLES = "granularity too small for the requested time range. Count of aggregations requested exceeds 300"
_DEPTHS = {"1": 1, "2": 50}
"""Prices of the book by the `level` that is asked for; level 3 is each order of the whole book.

https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/products/get-product-book, read in November 2026
"""

NAMES = Names(
    order=lambda number, micros: str(uuid5(IDS, f"{number}:{micros}")),
    # fills and public trades are numbered alike
    fill=lambda number, _micros: str(number),
)


class CoinbaseExchangeGateway:
    def __init__(self, exchange: SimulatedExchange, credentials: Credentials) -> None:
        self.exchange = exchange
        self._credentials = credentials
        self._stream = CoinbaseExchangeStream(exchange, self._check_fields)
        self.subscribers = self._stream.subscribers
        self._orders = CoinbaseExchangeOrders(exchange, self._stream.rested)

    def application(self) -> web.Application:
        application = guarded(NAME, _is_private, self._check, self.rejection)
        application.add_routes(
            [
                web.get("/ws", self._ws),
                *_with_slashes(self._public_routes()),
                *_with_slashes(self._orders.routes()),
                *_with_slashes(CoinbaseExchangeAccounts(self.exchange).routes()),
            ]
        )
        return application

    def is_mine(self, word: str) -> bool:
        return word == self._credentials.api_key

    def _public_routes(self) -> list[web.RouteDef]:
        return [
            web.get("/currencies", self._currencies),
            web.get("/products", self._products),
            web.get("/products/spark-lines", self._spark_lines),
            web.get("/products/{id}", self._product),
            web.get("/products/{id}/book", self._book),
            web.get("/products/{id}/ticker", self._ticker),
            web.get("/products/{id}/stats", self._stats),
            web.get("/products/{id}/trades", self._trades),
            web.get("/products/{id}/candles", self._candles),
            web.get("/time", self._time),
        ]

    def publish(self, step: MarketStep) -> None:
        self._stream.publish(step)

    def put_off(self, symbol: str) -> None:
        """Do nothing: markets share nothing here."""

    def beat(self) -> None:
        self._stream.beat()

    def rejection(self, error: RequestRejectedError) -> web.Response:
        return rejection(error)

    # -- public

    async def _currencies(self, _request: web.Request) -> web.Response:
        markets = [listing.market for listing in self.exchange.listings.values()]
        names = dict.fromkeys(name for market in markets for name in (market.base, market.quote_currency))
        return json_reply([currency_row(name) for name in names])

    async def _products(self, _request: web.Request) -> web.Response:
        return json_reply([product_row(feed.listing) for feed in self._stream.feeds.values()])

    async def _product(self, request: web.Request) -> web.Response:
        return json_reply(product_row(self._feed(request).listing))

    async def _book(self, request: web.Request) -> web.Response:
        feed, level = self._feed(request), request.query.get("level", "1")
        book = self.exchange.books[feed.listing.market.symbol]
        if level in _DEPTHS:
            sides = book_level_rows(feed.listing, book, _DEPTHS[level])
        elif level == "3":
            sides = book_order_rows(feed.listing, book)
        else:
            raise RequestRejectedError("invalid_request", "level")
        now = iso_text(self.exchange.clock.now())
        return json_reply({**sides, "sequence": feed.sequence, "auction_mode": False, "auction": None, "time": now})

    async def _ticker(self, request: web.Request) -> web.Response:
        feed = self._feed(request)
        bid, ask = best_texts(feed.listing, self.exchange.books[feed.listing.market.symbol])
        row = {"ask": ask, "bid": bid, "volume": "0", "trade_id": 0, "price": bid, "size": "0"}
        row["time"] = iso_text(self.exchange.clock.now())
        figures = feed.figures()
        if figures is not None:
            last = trade_row(figures.last)
            row |= {name: last[name] for name in ("trade_id", "price", "size", "time")}
            row["volume"] = fixed_text(figures.volume, 8)
        return json_reply(row)

    async def _stats(self, request: web.Request) -> web.Response:
        feed = self._feed(request)
        figures, decimals = feed.figures(), feed.listing.price_decimals
        if figures is None:
            return json_reply({})
        prices = {"open": figures.open, "high": figures.high, "low": figures.low, "last": figures.last.price}
        row = {name: fixed_text(price, decimals) for name, price in prices.items()}
        volume = fixed_text(figures.volume, 8)
        return json_reply({**row, "volume": volume, "volume_30day": volume})

    async def _trades(self, request: web.Request) -> web.Response:
        trades = self.exchange.tape.newest(self._feed(request).listing.market.symbol, KEPT)
        return page_reply(request, trades, lambda trade: trade.number, trade_row)

    async def _candles(self, request: web.Request) -> web.Response:
        """Return candles, newest first; times in which nothing was traded have none. One bound without the other is
        ignored."""
        listing, seconds = self._feed(request).listing, count_field(request.query, "granularity", 60)
        if seconds not in _GRANULARITIES:
            raise RequestRejectedError("misused", "Unsupported granularity")
        began, ended = moment_in(request.query, "start"), moment_in(request.query, "end")
        candles = self.exchange.tape.candles[listing.market.symbol].traded(Interval(seconds))
        if began is not None and ended is not None:
            if (ended - began) // (seconds * MICROSECONDS) >= _MOST_CANDLES:
                raise RequestRejectedError("misused", _TOO_MANY_CANDLES)
            candles = [candle for candle in candles if began <= candle.began <= ended]
        return json_reply([candle_row(candle, listing) for candle in candles[::-1][:_MOST_CANDLES]])

    async def _spark_lines(self, _request: web.Request) -> web.Response:
        """Return the hours of the last day of each product, newest first."""
        lines = {}
        for name, feed in self._stream.feeds.items():
            hours = self.exchange.tape.candles[feed.listing.market.symbol].traded(Interval(3_600))
            lines[name] = [candle_row(candle, feed.listing)[:5] for candle in hours[::-1][:24]]
        return json_reply(lines)

    async def _time(self, _request: web.Request) -> web.Response:
        now = self.exchange.clock.now()
        return json_reply({"iso": iso_text(now), "epoch": now / MICROSECONDS})

    def _feed(self, request: web.Request) -> ProductFeed:
        # the exchange takes them in either case
        name = request.match_info["id"].upper()
        if name not in self._stream.feeds:
            raise RequestRejectedError("unknown_market", name)
        return self._stream.feeds[name]

    # -- signing

    def _check(self, request: SignedRequest) -> None:
        for name in ("KEY", "SIGN", "TIMESTAMP", "PASSPHRASE"):
            if not request.headers.get(f"CB-ACCESS-{name}"):
                raise RequestRejectedError("unknown_key", f"CB-ACCESS-{name} header is required")
        signature = CoinbaseExchangeSignature.of_headers(request.headers)
        signature.check(self._credentials, self.exchange.clock.now(), request.method + request.path + request.body)

    def _check_fields(self, fields: Mapping[str, Any]) -> None:
        signature = CoinbaseExchangeSignature.of_fields(fields)
        signature.check(self._credentials, self.exchange.clock.now(), "GET/users/self/verify")

    async def _ws(self, request: web.Request) -> web.WebSocketResponse:
        return await self.subscribers.serve(request, self.on_message)

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        """Answer one message of a WebSocket client."""
        self._stream.on_message(connection, text)


def _with_slashes(routes: list[web.RouteDef]) -> list[web.RouteDef]:
    """Return each path with a slash after it and without, as the real exchange takes them."""
    return [web.route(row.method, row.path + slash, row.handler) for row in routes for slash in ("", "/")]


def _is_private(path: str) -> bool:
    return path.startswith(("/accounts", "/fees", "/fills", "/orders", "/transfers"))


SIMULATED = SimulatedGateway(CoinbaseExchangeGateway, NAMES, RATES)
