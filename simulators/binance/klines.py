"""Binance's candles, which it calls klines: by REST, and as streams of their own."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial

from simulators.binance.endpoints import (
    Endpoint,
    Fields,
    eight_decimals,
    limit_field,
    symbol_field,
    time_field,
    timestamp,
)
from simulators.binance.rejections import MisusedError
from simulators.matching.candles import MONTH, WEEK_FROM_MONDAY, Candle, Interval, page
from simulators.matching.listings import Listing
from simulators.matching.simulated_exchange import SimulatedExchange

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
INTERVALS: dict[str, Interval] = {
    "1s": Interval(1),
    **{f"{count}m": Interval(count * _MINUTE) for count in (1, 3, 5, 15, 30)},
    **{f"{count}h": Interval(count * _HOUR) for count in (1, 2, 4, 6, 8, 12)},
    **{f"{count}d": Interval(count * _DAY) for count in (1, 3)},
    "1w": WEEK_FROM_MONDAY,
    "1M": MONTH,
}
_KNOWN = frozenset(("symbol", "interval", "startTime", "endTime", "limit"))


class BinanceKlines:
    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("GET", "/api/v3/klines", 2, self._klines, _KNOWN),
            Endpoint("GET", "/api/v3/uiKlines", 2, self._klines, _KNOWN),
        ]

    def _klines(self, fields: Fields) -> object:
        """Return klines, oldest first: from `startTime` on, else the newest until `endTime`."""
        listing = symbol_field(fields, self._exchange.listings_by_id)
        if "interval" not in fields:
            raise MisusedError(-1102, "Mandatory parameter 'interval' was not sent, was empty/null, or malformed.")
        if fields["interval"] not in INTERVALS:
            raise MisusedError(-1120, "Invalid interval.")
        interval, now = INTERVALS[fields["interval"]], self._exchange.clock.now()
        since, until = time_field(fields, "startTime", 0), time_field(fields, "endTime", now)
        candles = self._exchange.tape.candles[listing.market.symbol].unbroken(interval, now)
        return [_kline_row(candle, interval) for candle in page(candles, since, until, limit_field(fields, 500))]


class KlineStream:
    """One market's klines of one interval, as they are streamed."""

    def __init__(self, exchange: SimulatedExchange, listing: Listing, name: str) -> None:
        self._exchange = exchange
        self._listing = listing
        self._name = name
        self._interval = INTERVALS[name]
        self._shown: int | None = None
        """When the kline began that was sent last, if it has not been closed yet."""

    def messages(self) -> Sequence[Callable[[], dict[str, object]]]:
        """Return the last kline, closed, if its time is over; then the current one, if something was traded."""
        candles, messages = self._exchange.tape.candles[self._listing.market.symbol], []
        began = self._interval.start(self._exchange.clock.now())
        shown, current = self._shown, candles.at(self._interval, began)
        if shown is not None and shown != began:
            closed = candles.at(self._interval, shown)
            messages += [] if closed is None else [partial(self._message, replace(closed), is_closed=True)]
            self._shown = None
        if current is not None:
            messages.append(partial(self._message, replace(current), is_closed=False))
            self._shown = began
        return messages

    def _message(self, candle: Candle, *, is_closed: bool) -> dict[str, object]:
        row = {
            "t": timestamp(candle.began),
            "T": _last_millisecond(candle, self._interval),
            "s": self._listing.market_id,
            "i": self._name,
            "f": candle.first,
            "L": candle.last,
            "o": eight_decimals(candle.open),
            "c": eight_decimals(candle.close),
            "h": eight_decimals(candle.high),
            "l": eight_decimals(candle.low),
            "v": eight_decimals(candle.volume),
            "n": candle.count,
            "x": is_closed,
            "q": _value(candle.value),
            "V": eight_decimals(candle.bought),
            "Q": _value(candle.bought_value),
            "B": "0",
        }
        now = timestamp(self._exchange.clock.now())
        return {"e": "kline", "E": now, "s": self._listing.market_id, "k": row}


def _kline_row(candle: Candle, interval: Interval) -> list[object]:
    return [
        timestamp(candle.began),
        *(eight_decimals(price) for price in (candle.open, candle.high, candle.low, candle.close)),
        eight_decimals(candle.volume),
        _last_millisecond(candle, interval),
        _value(candle.value),
        candle.count,
        eight_decimals(candle.bought),
        _value(candle.bought_value),
        "0",
    ]


def _last_millisecond(candle: Candle, interval: Interval) -> int:
    return timestamp(interval.after(candle.began) - 1)


def _value(number: Decimal) -> str:
    """Return price times amount, cut to eight digits."""
    return format(number.quantize(Decimal("0.00000001")), "f")
