"""Binance's public REST endpoints: time, markets, books, trades, tickers."""

from collections.abc import Callable, Mapping

from simulators.binance.endpoints import (
    Endpoint,
    Fields,
    eight_decimals,
    integer_field,
    limit_field,
    symbol_field,
    symbols_field,
    time_field,
    timestamp,
    until_field,
)
from simulators.binance.limits import BinanceLimits
from simulators.binance.rows import market_row, trade_row
from simulators.binance.stream import BinanceFeed
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.trade_tape import KEPT

_FEW_SYMBOLS, _MANY_SYMBOLS = 20, 100
_DEEPEST = 5_000
_DEPTH_WEIGHTS = ((100, 25), (500, 50), (1_000, 250))
_OF_SYMBOLS = frozenset(("symbol", "symbols", "symbolStatus"))


class BinancePublic:
    """`feeds` and `listings` by the exchange's own name of the market."""

    def __init__(self, exchange: SimulatedExchange, feeds: Mapping[str, BinanceFeed], limits: BinanceLimits) -> None:
        self._exchange = exchange
        self._limits = limits
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
            *self._tickers(),
            Endpoint("GET", "/sapi/v1/system/status", 1, lambda _: {"status": 0, "msg": "normal"}),
            # ccxt asks for futures with the spot markets; there are none
            Endpoint("GET", "/fapi/v1/exchangeInfo", 1, self._no_markets),
            Endpoint("GET", "/dapi/v1/exchangeInfo", 1, self._no_markets),
        ]

    def _tickers(self) -> list[Endpoint]:
        kinds = {
            "24hr": (BinanceFeed.day_row, _day_weight),
            "bookTicker": (BinanceFeed.best_row, _ticker_weight),
            "price": (_price_row, _ticker_weight),
        }
        return [
            Endpoint("GET", f"/api/v3/ticker/{name}", 2, self._of_each(row_of), _OF_SYMBOLS, weigh_fields=weight)
            for name, (row_of, weight) in kinds.items()
        ]

    def _time(self, _: Fields) -> object:
        return {"serverTime": timestamp(self._exchange.clock.now())}

    def _info(self, fields: Fields) -> object:
        rows = [market_row(feed.listing) for feed in self._wanted(fields)]
        return {**self._no_markets(fields), "rateLimits": self._limits.rows(), "symbols": rows}

    def _no_markets(self, _: Fields) -> dict[str, object]:
        now = timestamp(self._exchange.clock.now())
        return {"timezone": "UTC", "serverTime": now, "rateLimits": [], "exchangeFilters": [], "symbols": []}

    def _depth(self, fields: Fields) -> object:
        feed = self._feeds[symbol_field(fields, self._listings).market_id]
        return feed.depth(limit_field(fields, 100, _DEEPEST))

    def _trades(self, fields: Fields) -> object:
        return [trade_row(trade) for trade in self._newest(fields, limit_field(fields, 500))]

    def _aggregates(self, fields: Fields) -> object:
        """Return an aggregate for each trade, oldest first; from a number or a time on if asked for, else the
        newest."""
        first, since = integer_field(fields, "fromId", 0), time_field(fields, "startTime", 0)
        until, limit = until_field(fields, "endTime", 0), limit_field(fields, 500)
        found = [
            trade
            for trade in self._newest(fields, KEPT)
            if trade.number >= first and trade.traded_at >= since and (not until or trade.traded_at <= until)
        ]
        return [_aggregate_row(trade) for trade in (found[:limit] if first or since else found[-limit:])]

    def _newest(self, fields: Fields, limit: int) -> list[PublicTrade]:
        """Return the newest trades, oldest first."""
        listing = symbol_field(fields, self._listings)
        return self._exchange.tape.newest(listing.market.symbol, limit)[::-1]

    def _of_each(self, row_of: Callable[[BinanceFeed], object]) -> Callable[[Fields], object]:
        """Return one row if `symbol` is given, else a list."""

        def answer(fields: Fields) -> object:
            rows = [row_of(feed) for feed in self._wanted(fields)]
            return rows[0] if "symbol" in fields else rows

        return answer

    def _wanted(self, fields: Fields) -> list[BinanceFeed]:
        names = symbols_field(fields)
        names = list(self._feeds) if names is None else names
        return [self._feeds[symbol_field({"symbol": name}, self._listings).market_id] for name in names]


def _day_weight(fields: Fields) -> int:
    """Return the weight of a ticker of 24 hours: the more markets, the heavier."""
    names = symbols_field(fields)
    if names is None or len(names) > _MANY_SYMBOLS:
        return 80
    return 2 if len(names) <= _FEW_SYMBOLS else 40


def _ticker_weight(fields: Fields) -> int:
    return 2 if "symbol" in fields else 4


def _price_row(feed: BinanceFeed) -> object:
    return {"symbol": feed.listing.market_id, "price": feed.last_price()}


def _aggregate_row(trade: PublicTrade) -> object:
    return {
        "a": trade.number,
        "p": eight_decimals(trade.price),
        "q": eight_decimals(trade.amount),
        "f": trade.number,
        "l": trade.number,
        "T": timestamp(trade.traded_at),
        "m": trade.side == "sell",
        "M": True,
    }
