"""Bybit's public REST endpoints: time, instruments, books, tickers, trades and candles."""

from collections.abc import Mapping
from sys import maxsize

from market.time_units import MICROSECONDS
from simulators.bybit.endpoints import (
    BybitEndpoint,
    category_field,
    check_spot,
    fields_named,
    integer_field,
    limit_field,
    listing_field,
)
from simulators.bybit.rows import candle_row, market_row, ticker_row, trade_row
from simulators.bybit.stream import BybitStream
from simulators.matching.candles import MONTH, WEEK_FROM_MONDAY, Interval, page
from simulators.matching.listings import Listing
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import levels_of
from simulators.web.request_fields import Fields, Row, milliseconds

_MINUTES = (1, 3, 5, 15, 30, 60, 120, 240, 360, 720)
INTERVALS: Mapping[str, Interval] = {
    **{str(count): Interval(count * 60) for count in _MINUTES},
    "D": Interval(86_400),
    "W": WEEK_FROM_MONDAY,
    "M": MONTH,
}
_DEEPEST, _MOST_TRADES, _MOST_CANDLES = 200, 60, 1_000


class BybitPublic:
    def __init__(self, exchange: SimulatedExchange, stream: BybitStream) -> None:
        self._exchange = exchange
        self._listings: Mapping[str, Listing] = exchange.listings_by_id
        self._stream = stream

    def endpoints(self) -> list[BybitEndpoint]:
        of_market = fields_named("symbol", "limit")
        instruments = fields_named("symbol", "status", "baseCoin", "limit", "cursor", "symbolType")
        return [
            BybitEndpoint("GET", "/v5/market/time", self._time),
            BybitEndpoint("GET", "/v5/market/instruments-info", self._instruments, instruments),
            BybitEndpoint("GET", "/v5/market/orderbook", self._book, of_market),
            BybitEndpoint("GET", "/v5/market/tickers", self._tickers, fields_named("symbol")),
            BybitEndpoint("GET", "/v5/market/recent-trade", self._trades, of_market),
            BybitEndpoint("GET", "/v5/market/kline", self._candles, of_market | {"interval", "start", "end"}),
        ]

    def _time(self, _: Fields) -> object:
        now = self._exchange.clock.now()
        return {"timeSecond": str(now // MICROSECONDS), "timeNano": f"{now}000"}

    def _instruments(self, fields: Fields) -> object:
        """Return the markets, all at once, as documented: `limit` and `cursor` have no effect on spot. There are no
        derivatives, which ccxt asks for, too."""
        category = category_field(fields)
        rows: list[Row] = []
        if category == "spot":
            if "baseCoin" in fields or "symbolType" in fields:
                raise RequestRejectedError("invalid_request", "baseCoin and symbolType are not simulated of spot")
            every = [market_row(listing) for listing in self._wanted(fields)]
            rows = [row for row in every if fields.get("status") in (None, row["status"])]
        return {"category": category, "list": rows, "nextPageCursor": ""}

    def _book(self, fields: Fields) -> object:
        check_spot(fields)
        listing = listing_field(fields, self._listings)
        limit, now = limit_field(fields, 1, _DEEPEST), self._exchange.clock.now() // 1_000
        levels = levels_of(listing, self._exchange.books[listing.market.symbol], limit)
        number = self._stream.steps.number(listing.market.symbol)
        return {
            "s": listing.market_id,
            "b": levels["bids"],
            "a": levels["asks"],
            "ts": now,
            "u": number,
            "seq": number,
            "cts": now,
        }

    def _tickers(self, fields: Fields) -> object:
        check_spot(fields)
        return {"category": "spot", "list": [self._ticker(listing) for listing in self._wanted(fields)]}

    def _wanted(self, fields: Fields) -> list[Listing]:
        """Return the market that is named, all if none is."""
        return [listing_field(fields, self._listings)] if "symbol" in fields else list(self._listings.values())

    def _ticker(self, listing: Listing) -> Row:
        symbol = listing.market.symbol
        return ticker_row(listing, self._exchange.books[symbol], self._stream.steps.figures(symbol))

    def _trades(self, fields: Fields) -> object:
        """Return the newest trades, newest first. More than there can be are no error: ccxt's live test asks for 12,000
        of each exchange, and its class lowers the limit for those that refuse it, of which Bybit is none."""
        check_spot(fields)
        listing = listing_field(fields, self._listings)
        most = min(limit_field(fields, _MOST_TRADES, maxsize), _MOST_TRADES)
        newest = self._exchange.tape.newest(listing.market.symbol, most)
        return {"category": "spot", "list": [trade_row(trade, listing.market_id) for trade in newest]}

    def _candles(self, fields: Fields) -> object:
        """Return candles, newest first: the newest until `end`, or those from `start` on."""
        check_spot(fields)
        listing, name = listing_field(fields, self._listings), str(fields.get("interval", ""))
        if name not in INTERVALS:
            raise RequestRejectedError("invalid_request", "Invalid period!")
        interval, now = INTERVALS[name], self._exchange.clock.now()
        since = integer_field(fields, "start", 0) * 1_000
        until = integer_field(fields, "end", int(milliseconds(now))) * 1_000 + 999
        candles = self._exchange.tape.candles[listing.market.symbol].unbroken(interval, now)
        found = page(candles, since, until, limit_field(fields, 200, _MOST_CANDLES))
        rows = [candle_row(candle) for candle in reversed(found)]
        return {"category": "spot", "symbol": listing.market_id, "list": rows}
