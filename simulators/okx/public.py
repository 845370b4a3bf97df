"""OKX's public REST endpoints: time, instruments, books, tickers, trades and candles."""

from collections.abc import Callable, Mapping

from simulators.matching.candles import MONTH, WEEK_FROM_MONDAY, Candle, Interval
from simulators.matching.listings import Listing
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.okx.account import instruments
from simulators.okx.endpoints import (
    OkxEndpoint,
    Rows,
    integer_field,
    is_spot,
    known,
    limit_field,
    listing_field,
    page_of,
)
from simulators.okx.rows import candle_row, trade_row
from simulators.okx.stream import OkxStream
from simulators.web.request_fields import Fields, milliseconds, optional_field

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
INTERVALS: Mapping[str, Interval] = {
    **{f"{count}m": Interval(count * _MINUTE) for count in (1, 3, 5, 15, 30)},
    **{f"{count}H": Interval(count * _HOUR) for count in (1, 2, 4)},
    **{f"{count}Hutc": Interval(count * _HOUR) for count in (6, 12)},
    "1Dutc": Interval(_DAY),
    "1Wutc": WEEK_FROM_MONDAY,
    "1Mutc": MONTH,
}
"""Without those that begin by the days of Hong Kong."""
_OF_BY_ID, _OF_BY_TIME = "1", "2"


class OkxPublic:
    def __init__(self, exchange: SimulatedExchange, stream: OkxStream) -> None:
        self._exchange = exchange
        self._listings: Mapping[str, Listing] = exchange.listings_by_id
        self._stream = stream

    def endpoints(self) -> list[OkxEndpoint]:
        of_book, of_trades = known("instId", "sz"), known("instId", "limit")
        of_candles = known("instId", "bar", "after", "before", "limit")
        paths = "/api/v5/market/"
        return [
            OkxEndpoint("GET", "/api/v5/public/time", self._time),
            OkxEndpoint(
                "GET",
                "/api/v5/public/instruments",
                lambda fields: instruments(self._exchange, fields),
                known("instType", "instId", "uly", "instFamily"),
            ),
            OkxEndpoint("GET", "/api/v5/system/status", lambda _: [], known("state")),
            OkxEndpoint("GET", f"{paths}books", self._book_of(400), of_book),
            OkxEndpoint("GET", f"{paths}books-full", self._book_of(5_000), of_book),
            OkxEndpoint("GET", f"{paths}ticker", self._ticker, known("instId")),
            OkxEndpoint("GET", f"{paths}tickers", self._tickers, known("instType")),
            OkxEndpoint("GET", f"{paths}trades", self._trades, of_trades),
            OkxEndpoint("GET", f"{paths}history-trades", self._old_trades, of_trades | {"type", "after", "before"}),
            OkxEndpoint("GET", f"{paths}candles", self._candles, of_candles),
            OkxEndpoint("GET", f"{paths}history-candles", self._candles, of_candles),
        ]

    def _time(self, _: Fields) -> Rows:
        return [{"ts": milliseconds(self._exchange.clock.now())}]

    def _book_of(self, most: int) -> Callable[[Fields], Rows]:
        def answer(fields: Fields) -> Rows:
            listing = listing_field(fields, self._listings)
            depth = limit_field(fields, 1, most, "sz")
            return [self._stream.whole_book(listing, depth)]

        return answer

    def _ticker(self, fields: Fields) -> Rows:
        return [self._stream.ticker(listing_field(fields, self._listings))]

    def _tickers(self, fields: Fields) -> Rows:
        if not is_spot(fields, needs_it=True):
            return []
        return [self._stream.ticker(listing) for listing in self._listings.values()]

    def _trades(self, fields: Fields) -> Rows:
        """Return the newest trades, newest first."""
        listing = listing_field(fields, self._listings)
        newest = self._exchange.tape.newest(listing.market.symbol, limit_field(fields, 100, 500))
        return [trade_row(trade, listing.market_id) for trade in newest]

    def _old_trades(self, fields: Fields) -> Rows:
        """Return pages of trades by their ids, or by their times."""
        listing = listing_field(fields, self._listings)
        kind = optional_field(fields, "type") or _OF_BY_ID
        if kind not in (_OF_BY_ID, _OF_BY_TIME):
            raise RequestRejectedError("invalid_request", "type")
        newest = self._exchange.tape.newest(listing.market.symbol, 10_000)
        by_id = kind == _OF_BY_ID
        page = page_of(newest, fields, lambda one: one.number if by_id else one.traded_at // 1_000, 100, 100)
        return [trade_row(trade, listing.market_id) for trade in page]

    def _candles(self, fields: Fields) -> Rows:
        """Return candles, newest first, as lists."""
        listing, bar = listing_field(fields, self._listings), optional_field(fields, "bar") or "1m"
        if bar not in INTERVALS:
            raise RequestRejectedError("invalid_request", "bar")
        interval, now = INTERVALS[bar], self._exchange.clock.now()
        after, before = integer_field(fields, "after"), integer_field(fields, "before")
        candles = self._exchange.tape.candles[listing.market.symbol].unbroken(interval, now)
        found = [
            candle
            for candle in candles
            if (after is None or candle.began // 1_000 < after) and (before is None or candle.began // 1_000 > before)
        ][-limit_field(fields, 100, 300) :]
        return [candle_row(candle, is_over=_is_over(candle, interval, now)) for candle in reversed(found)]


def _is_over(candle: Candle, interval: Interval, now: int) -> bool:
    return interval.after(candle.began) <= now
