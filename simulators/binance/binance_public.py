"""Binance's public REST endpoints: time, markets, books, trades, tickers."""

from collections.abc import Callable, Mapping

import orjson

from simulators.binance.binance_endpoints import (
    Endpoint,
    Fields,
    eight,
    integer_field,
    limit_field,
    milliseconds,
    symbol_field,
)
from simulators.binance.binance_rejections import MisusedError
from simulators.binance.binance_rows import market_row, trade_row
from simulators.binance.binance_stream import BinanceFeed
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade, RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.trade_tape import KEPT

WEIGHT_A_MINUTE = 6_000
ORDERS_IN_TEN_SECONDS = 100
_DEEPEST = 5_000
_DEPTH_WEIGHTS = ((100, 25), (500, 50), (1_000, 250))
_RATE_LIMITS = [
    {"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": WEIGHT_A_MINUTE},
    {"rateLimitType": "ORDERS", "interval": "SECOND", "intervalNum": 10, "limit": ORDERS_IN_TEN_SECONDS},
]
_OF_SYMBOLS = frozenset(("symbol", "symbols"))


class BinancePublic:
    """`feeds` and `listings` by the exchange's own name of the market."""

    def __init__(self, exchange: SimulatedExchange, feeds: Mapping[str, BinanceFeed]) -> None:
        self._exchange = exchange
        self._feeds = feeds
        self._listings: dict[str, Listing] = {name: feed.listing for name, feed in feeds.items()}

    def endpoints(self) -> list[Endpoint]:
        trades = frozenset(("symbol", "limit"))
        aggregates = trades | {"fromId", "startTime", "endTime"}
        return [
            Endpoint("GET", "/api/v3/ping", 1, lambda _: {}),
            Endpoint("GET", "/api/v3/time", 1, self._time),
            Endpoint("GET", "/api/v3/exchangeInfo", 20, self._info, _OF_SYMBOLS | {"permissions"}),
            Endpoint("GET", "/api/v3/depth", 5, self._depth, trades, heavier=_DEPTH_WEIGHTS),
            Endpoint("GET", "/api/v3/trades", 25, self._trades, trades),
            Endpoint("GET", "/api/v3/aggTrades", 4, self._aggregates, aggregates),
            Endpoint("GET", "/api/v3/ticker/24hr", 2, self._of_each(BinanceFeed.day_row), _OF_SYMBOLS),
            Endpoint("GET", "/api/v3/ticker/bookTicker", 2, self._of_each(BinanceFeed.best_row), _OF_SYMBOLS),
            Endpoint("GET", "/api/v3/ticker/price", 2, self._of_each(_price_row), _OF_SYMBOLS),
            Endpoint("GET", "/sapi/v1/system/status", 1, lambda _: {"status": 0, "msg": "normal"}),
            # ccxt asks for futures with the spot markets; there are none
            Endpoint("GET", "/fapi/v1/exchangeInfo", 1, self._no_markets),
            Endpoint("GET", "/dapi/v1/exchangeInfo", 1, self._no_markets),
        ]

    def _time(self, _: Fields) -> object:
        return {"serverTime": milliseconds(self._exchange.clock.now())}

    def _info(self, fields: Fields) -> object:
        rows = [market_row(feed.listing) for feed in self._wanted(fields)]
        return {**self._no_markets(fields), "rateLimits": _RATE_LIMITS, "symbols": rows}

    def _no_markets(self, _: Fields) -> dict[str, object]:
        now = milliseconds(self._exchange.clock.now())
        return {"timezone": "UTC", "serverTime": now, "rateLimits": [], "exchangeFilters": [], "symbols": []}

    def _depth(self, fields: Fields) -> object:
        feed = self._feeds[symbol_field(fields, self._listings).market_id]
        return feed.depth(limit_field(fields, 100, _DEEPEST))

    def _trades(self, fields: Fields) -> object:
        return [trade_row(trade) for trade in self._newest(fields, limit_field(fields, 500))]

    def _aggregates(self, fields: Fields) -> object:
        """One trade each, oldest first; from a number or a time on where asked for, else the newest."""
        first, since = integer_field(fields, "fromId", 0), integer_field(fields, "startTime", 0)
        until, limit = integer_field(fields, "endTime", 0), limit_field(fields, 500)
        found = [
            trade
            for trade in self._newest(fields, KEPT)
            if trade.number >= first
            and milliseconds(trade.traded_at) >= since
            and (not until or milliseconds(trade.traded_at) <= until)
        ]
        return [_aggregate_row(trade) for trade in (found[:limit] if first or since else found[-limit:])]

    def _newest(self, fields: Fields, limit: int) -> list[PublicTrade]:
        """Oldest first."""
        listing = symbol_field(fields, self._listings)
        return self._exchange.tape.newest(listing.market.symbol, limit)[::-1]

    def _of_each(self, row_of: Callable[[BinanceFeed], object]) -> Callable[[Fields], object]:
        """One row where `symbol` is given, else a list."""

        def answer(fields: Fields) -> object:
            rows = [row_of(feed) for feed in self._wanted(fields)]
            return rows[0] if "symbol" in fields else rows

        return answer

    def _wanted(self, fields: Fields) -> list[BinanceFeed]:
        if "symbol" in fields and "symbols" in fields:
            raise MisusedError(-1128, "Combination of optional parameters invalid.")
        if "symbols" in fields:
            names = _listed(fields["symbols"])
        else:
            names = [fields["symbol"]] if "symbol" in fields else list(self._feeds)
        return [self._feeds[symbol_field({"symbol": name}, self._listings).market_id] for name in names]


def _listed(text: str) -> list[str]:
    """Parse a list such as ["BTCUSDT","ETHUSDT"]."""
    try:
        names = orjson.loads(text)
    except orjson.JSONDecodeError:
        names = None
    if not isinstance(names, list):
        raise RequestRejectedError("invalid_request", "symbols")
    return [str(name) for name in names]


def _price_row(feed: BinanceFeed) -> object:
    return {"symbol": feed.listing.market_id, "price": feed.last_price()}


def _aggregate_row(trade: PublicTrade) -> object:
    return {
        "a": trade.number,
        "p": eight(trade.price),
        "q": eight(trade.amount),
        "f": trade.number,
        "l": trade.number,
        "T": milliseconds(trade.traded_at),
        "m": trade.side == "sell",
        "M": True,
    }
