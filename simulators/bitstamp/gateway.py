"""Bitstamp's wire protocol: signed forms over REST, and its stream."""

from decimal import Decimal

from aiohttp import web

from exchanges.credentials import Credentials
from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.bitstamp.limits import RATES
from simulators.bitstamp.orders import BitstampOrders
from simulators.bitstamp.rejections import HEADERS, rejection
from simulators.bitstamp.rows import candle_row, market_row, pair_row, ticker_row, trade_id, trade_row
from simulators.bitstamp.stream import BitstampStream, reconnect_notice
from simulators.matching.candles import Interval, page
from simulators.matching.listings import Listing
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.trade_tape import KEPT
from simulators.matching.venue import Names
from simulators.web.exchange_gateway import (
    MarketStep,
    SimulatedGateway,
    count_field,
    guarded,
    json_reply,
    levels_of,
    listing_named,
)
from simulators.web.signatures import BitstampNonces, SignedRequest

NAME = "bitstamp"
_WHOLE_BOOK = 1_000
_CANDLE_SECONDS = (60, 180, 300, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 259_200)
_MOST_CANDLES = 1_000
_PUBLIC = (
    *(f"/api/v2/{name}/" for name in ("markets", "order_book", "ticker", "transactions", "ohlc", "trading-pairs-info")),
    "/ws",
)
_SPANS = {"minute": 60, "hour": 3_600, "day": 86_400}
"""Maximum age of public trades, seconds."""

NAMES = Names(
    order=lambda number, micros: str(micros // 1_000 * 1_000 + number % 1_000),
    fill=lambda number, _micros: str(trade_id(number)),
)


class BitstampGateway:
    def __init__(self, exchange: SimulatedExchange, credentials: Credentials) -> None:
        self.exchange = exchange
        self._credentials = credentials
        self._stream = BitstampStream(exchange, credentials.uid)
        self.subscribers = self._stream.subscribers
        self._orders = BitstampOrders(exchange, self._stream.token)
        self._nonces = BitstampNonces()

    def application(self) -> web.Application:
        application = guarded(NAME, _is_private, self._check, self.rejection)
        application.add_routes(
            [
                web.get("/api/v2/markets/", self._markets),
                web.get("/api/v2/order_book/{pair}/", self._book),
                web.get("/api/v2/ticker/", self._tickers),
                web.get("/api/v2/ticker/{pair}/", self._ticker),
                web.get("/api/v2/ticker/{pair}", self._ticker),
                web.get("/api/v2/transactions/{pair}/", self._trades),
                web.get("/api/v2/ohlc/{pair}/", self._candles),
                web.get("/api/v2/trading-pairs-info/", self._pairs),
                *self._orders.routes(),
                web.get("/ws", self._ws),
            ]
        )
        return application

    def is_mine(self, word: str) -> bool:
        return word == self._credentials.api_key or self._stream.knows_token(word)

    def publish(self, step: MarketStep) -> None:
        self._stream.publish(step)

    def put_off(self, symbol: str) -> None:
        self._stream.stamp()

    def beat(self) -> None:
        """Do nothing: the client sends heartbeats and gets answers."""

    def rejection(self, error: RequestRejectedError) -> web.Response:
        is_short = error.reason == "insufficient_funds"
        available: Decimal = self.exchange.customer.available(error.detail) if is_short else ZERO
        return rejection(error, available)

    # -- public

    async def _markets(self, _request: web.Request) -> web.Response:
        return json_reply([market_row(listing) for listing in self.exchange.listings_by_id.values()])

    async def _book(self, request: web.Request) -> web.Response:
        listing = self._listing(request)
        levels = levels_of(listing, self.exchange.books[listing.market.symbol], _WHOLE_BOOK)
        return json_reply({**self._stream.stamps(), **levels})

    async def _ticker(self, request: web.Request) -> web.Response:
        return json_reply(self._ticker_row(self._listing(request)))

    async def _tickers(self, _request: web.Request) -> web.Response:
        return json_reply([self._ticker_row(listing) for listing in self.exchange.listings_by_id.values()])

    async def _trades(self, request: web.Request) -> web.Response:
        symbol, span = self._listing(request).market.symbol, request.query.get("time", "hour")
        if span not in _SPANS:
            raise RequestRejectedError("invalid_request", "time")
        oldest = self.exchange.clock.now() - _SPANS[span] * MICROSECONDS
        trades = self.exchange.tape.newest(symbol, KEPT)
        return json_reply([trade_row(trade) for trade in trades if trade.traded_at >= oldest])

    async def _candles(self, request: web.Request) -> web.Response:
        """Return candles, oldest first: from `start` on, else the newest until `end`."""
        listing, step = self._listing(request), count_field(request.query, "step", 0)
        limit = count_field(request.query, "limit", 0)
        if step not in _CANDLE_SECONDS or not 1 <= limit <= _MOST_CANDLES:
            raise RequestRejectedError("invalid_request", "limit" if step in _CANDLE_SECONDS else "step")
        interval, now = Interval(step), self.exchange.clock.now()
        since = count_field(request.query, "start", 0) * MICROSECONDS
        until = count_field(request.query, "end", now // MICROSECONDS) * MICROSECONDS
        if request.query.get("exclude_current_candle", "").lower() == "true":
            until = min(until, interval.start(now) - 1)
        candles = self.exchange.tape.candles[listing.market.symbol].unbroken(interval, now)
        rows = [candle_row(candle, listing) for candle in page(candles, since, until, limit)]
        return json_reply({"data": {"pair": listing.market.symbol, "ohlc": rows}})

    async def _pairs(self, _request: web.Request) -> web.Response:
        """Return the pairs as clients asked for them before there was /markets/."""
        return json_reply([pair_row(listing) for listing in self.exchange.listings_by_id.values()])

    def _ticker_row(self, listing: Listing) -> dict[str, object]:
        symbol, now = listing.market.symbol, self.exchange.clock.now()
        return ticker_row(listing, self.exchange.books[symbol], self._stream.day(symbol).figures(now), now)

    def _listing(self, request: web.Request) -> Listing:
        return listing_named(self.exchange.listings_by_id, request.match_info["pair"])

    # -- signing

    def _check(self, request: SignedRequest) -> None:
        for name in HEADERS:
            if not request.headers.get(name):
                raise RequestRejectedError("unknown_key", name)
        self._nonces.check(request, self._credentials, self.exchange.clock.now())

    async def _ws(self, request: web.Request) -> web.WebSocketResponse:
        return await self.subscribers.serve(request, self._stream.on_message, notice=reconnect_notice)


def _is_private(path: str) -> bool:
    return not path.startswith(_PUBLIC)


SIMULATED = SimulatedGateway(BitstampGateway, NAMES, RATES)
