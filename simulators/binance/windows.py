"""Binance's figures of a window of time: the average price of five minutes, and the rolling ticker."""

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.binance.endpoints import (
    Endpoint,
    Fields,
    eight_decimals,
    rounded,
    symbol_field,
    symbols_field,
    timestamp,
)
from simulators.binance.rejections import MisusedError
from simulators.matching.candles import MINUTE, Candle
from simulators.matching.listings import Listing
from simulators.matching.simulated_exchange import SimulatedExchange

AVERAGE_MINUTES = 5
_WINDOW = re.compile(r"([1-9][0-9]?)([mhd])")
_UNITS = {"m": (60, 59), "h": (3_600, 23), "d": (86_400, 7)}
"""Seconds, and the longest window."""
_MOST_SYMBOLS, _MOST_WEIGHT, _WEIGHT_EACH = 100, 200, 4
_ONLY_FULL = ("priceChange", "priceChangePercent", "weightedAvgPrice")


class BinanceWindows:
    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._listings: Mapping[str, Listing] = exchange.listings_by_id

    def endpoints(self) -> list[Endpoint]:
        ticker = frozenset(("symbol", "symbols", "windowSize", "type", "symbolStatus"))
        return [
            Endpoint("GET", "/api/v3/avgPrice", 2, self._average, frozenset(("symbol",))),
            Endpoint("GET", "/api/v3/ticker", _WEIGHT_EACH, self._ticker, ticker, weigh_fields=_weight),
        ]

    def average_price(self, listing: Listing) -> Decimal:
        """Return the average weighted by amount; the last trade's price if nothing was traded, the best bid if nothing
        ever was."""
        candle = self._candle(listing, AVERAGE_MINUTES * 60)
        if candle is not None:
            return candle.average
        newest = self._exchange.tape.newest(listing.market.symbol, 1)
        bid = listing.price(self._exchange.books[listing.market.symbol].best("buy") or 0)
        return newest[0].price if newest else bid

    def _average(self, fields: Fields) -> object:
        listing = symbol_field(fields, self._listings)
        newest = self._exchange.tape.newest(listing.market.symbol, 1)
        at = newest[0].traded_at if newest else self._exchange.clock.now()
        price = rounded(self.average_price(listing), 8)
        return {"mins": AVERAGE_MINUTES, "price": price, "closeTime": timestamp(at)}

    def _ticker(self, fields: Fields) -> object:
        seconds, kind = _window_seconds(fields.get("windowSize", "1d")), fields.get("type", "FULL")
        if kind not in ("FULL", "MINI"):
            raise MisusedError(-1139, "Invalid ticker type.")
        names = symbols_field(fields)
        if names is None:
            raise MisusedError(-1102, "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed.")
        if len(names) > _MOST_SYMBOLS:
            raise MisusedError(-1101, "Too many parameters.")
        rows = [self._row(symbol_field({"symbol": name}, self._listings), seconds) for name in names]
        if kind == "MINI":
            rows = [{name: row[name] for name in row.keys() - set(_ONLY_FULL)} for row in rows]
        return rows[0] if "symbol" in fields else rows

    def _row(self, listing: Listing, seconds: int) -> dict[str, object]:
        now = self._exchange.clock.now()
        candle = self._candle(listing, seconds)
        prices = dict.fromkeys(("openPrice", "highPrice", "lowPrice", "lastPrice"), ZERO)
        change = percent = average = volume = value = ZERO
        if candle is not None:
            prices = {"openPrice": candle.open, "highPrice": candle.high, "lowPrice": candle.low}
            prices["lastPrice"] = candle.close
            change, average = candle.close - candle.open, candle.average
            percent, volume, value = change * 100 / candle.open, candle.volume, candle.value
        return {
            "symbol": listing.market_id,
            "priceChange": eight_decimals(change),
            "priceChangePercent": rounded(percent, 3),
            "weightedAvgPrice": rounded(average, 8),
            **{name: eight_decimals(price) for name, price in prices.items()},
            "volume": eight_decimals(volume),
            "quoteVolume": rounded(value, 8),
            "openTime": timestamp(_began(now, seconds)),
            "closeTime": timestamp(now),
            "firstId": -1 if candle is None else candle.first,
            "lastId": -1 if candle is None else candle.last,
            "count": 0 if candle is None else candle.count,
        }

    def _candle(self, listing: Listing, seconds: int) -> Candle | None:
        """Return what was traded in the last so many seconds and the rest of the minute before, None if nothing was."""
        began = _began(self._exchange.clock.now(), seconds)
        minutes = self._exchange.tape.candles[listing.market.symbol].traded(MINUTE)
        joined: Candle | None = None
        for minute in minutes:
            if minute.began < began:
                continue
            if joined is None:
                joined = replace(minute)
            else:
                joined.join(minute)
        return joined


def _began(now: int, seconds: int) -> int:
    return MINUTE.start(now - seconds * MICROSECONDS)


def _window_seconds(text: str) -> int:
    """Return the seconds. Raises RequestRejectedError."""
    found = _WINDOW.fullmatch(text)
    if found is not None:
        count, (seconds, most) = int(found[1]), _UNITS[found[2]]
        if count <= most:
            return count * seconds
    raise MisusedError(-1130, "Data sent for parameter 'windowSize' is not valid.")


def _weight(fields: Fields) -> int:
    return min(_MOST_WEIGHT, _WEIGHT_EACH * len(symbols_field(fields) or ["one"]))
