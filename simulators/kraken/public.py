"""Kraken's public calls: time and status, assets and pairs, tickers, depth, trades and candles."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal

import orjson

from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.kraken.rows import altname, asset_rows, candle_row, pair_row, public_trade_row, wsname
from simulators.market.traded_day import DAY, DayFigures, TradedDay
from simulators.matching.candles import Interval
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_records import PublicTrade, RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.trade_tape import KEPT
from simulators.web.exchange_gateway import (
    Call,
    Fields,
    best_level,
    count_field,
    decimal_field,
    iso_text,
    known,
    levels_of,
    listing_named,
    text_field,
)
from simulators.web.json_digits import exact

_PERCENT_STEP = Decimal("0.01")
_DEEPEST = 500
# `since` is in seconds or in nanoseconds, as `last` is.
_FEWEST_NANOSECONDS = 10**15
_LATEST = Decimal(10**20)
CANDLE_MINUTES = (1, 5, 15, 30, 60, 240, 1_440, 10_080, 21_600)
_MOST_CANDLES = 720
_CLASS = "asset_class"
"""Currencies, or tokenized shares: changelog, August and September 2025."""


class KrakenDay:
    """The day of one market, from the trades added to it."""

    def __init__(self, exchange: SimulatedExchange, listing: Listing) -> None:
        self._exchange = exchange
        self._listing = listing
        self._rolling = TradedDay()
        self._today = TradedDay()
        self._midnight = 0

    def add(self, trade: PublicTrade) -> None:
        """Add a trade; trades come in order of time."""
        self._turn(trade.traded_at)
        self._rolling.add(trade)
        self._today.add(trade)

    def rest_row(self) -> dict[str, object]:
        """Return the row of the REST ticker: pairs are [today, last 24 hours]."""
        (bid, bid_lots), (ask, ask_lots) = self._best()
        today, day = self._figures()
        pair = (today, day)
        return {
            "a": [ask, *self._amounts(ask_lots)],
            "b": [bid, *self._amounts(bid_lots)],
            "c": [self._price(day.last.price), self._amount(day.last.amount)],
            "v": [self._amount(figures.volume) for figures in pair],
            "p": [self._price(figures.average) for figures in pair],
            "t": [figures.count for figures in pair],
            "l": [self._price(figures.low) for figures in pair],
            "h": [self._price(figures.high) for figures in pair],
            "o": self._price(today.open),
        }

    def stream_row(self) -> dict[str, object]:
        """Return the row of the `ticker` channel: numbers, of the last 24 hours."""
        (bid, bid_lots), (ask, ask_lots) = self._best()
        _, day = self._figures()
        change = day.last.price - day.open
        percent = (100 * change / day.open).quantize(_PERCENT_STEP) if day.open else ZERO
        texts = {
            "bid": bid,
            "bid_qty": self._listing.amount_text(bid_lots),
            "ask": ask,
            "ask_qty": self._listing.amount_text(ask_lots),
            "last": self._price(day.last.price),
            "volume": self._amount(day.volume),
            "vwap": self._price(day.average),
            "low": self._price(day.low),
            "high": self._price(day.high),
            "change": self._price(change),
            "change_pct": format(percent, "f"),
        }
        now = iso_text(self._exchange.clock.now())
        return {"symbol": self._listing.market.symbol, **_numbers(texts), "timestamp": now}

    def best(self) -> object:
        """Return the best prices and their amounts, to see whether they have changed."""
        return self._best()

    def _best(self) -> tuple[tuple[str, int], tuple[str, int]]:
        book = self._exchange.books[self._listing.market.symbol]
        (bid, bids), (ask, asks) = best_level(book, "buy"), best_level(book, "sell")
        return (self._listing.price_text(bid), bids), (self._listing.price_text(ask), asks)

    def _figures(self) -> tuple[DayFigures, DayFigures]:
        """Return figures of today and of the last 24 hours; without trades, all prices are the best bid."""
        now = self._exchange.clock.now()
        self._turn(now)
        symbol = self._listing.market.symbol
        bid = self._listing.price(self._exchange.books[symbol].best("buy") or 0)
        none = DayFigures(bid, bid, bid, ZERO, bid, PublicTrade(0, symbol, "buy", bid, ZERO, now), 0)
        return self._today.figures(now) or none, self._rolling.figures(now) or none

    def _turn(self, now: int) -> None:
        midnight = now // DAY * DAY
        if midnight > self._midnight:
            self._midnight, self._today = midnight, TradedDay()

    def _amounts(self, lots: int) -> list[str]:
        """Return Kraken's "whole lot volume" and "lot volume"."""
        amount = self._listing.amount(lots)
        return [str(int(amount)), fixed_text(amount.quantize(Decimal("0.001")), 3)]

    def _price(self, price: Decimal) -> str:
        step = self._listing.market.tick_size
        return fixed_text(price.quantize(step, rounding=ROUND_HALF_UP), self._listing.price_decimals)

    def _amount(self, amount: Decimal) -> str:
        return fixed_text(amount, 8)


def _numbers(texts: dict[str, str]) -> dict[str, orjson.Fragment]:
    return {name: exact(text) for name, text in texts.items()}


class KrakenPairs:
    """The exchange's listings as they are now, by any of the names that Kraken takes."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings
        self._symbols = {
            name: symbol for symbol, row in listings.items() for name in (row.market_id, altname(row), wsname(row))
        }

    def one(self, name: str) -> Listing:
        """Return the listing. Raises RequestRejectedError."""
        return listing_named(self._listings, self._symbols.get(name, name))

    def all_in(self, fields: Fields) -> list[Listing]:
        """Return the listings that `pair` names, all if it is missing. Raises RequestRejectedError."""
        names = str(fields.get("pair") or "")
        return [self.one(name) for name in names.split(",")] if names else list(self._listings.values())


class KrakenPublic:
    def __init__(self, exchange: SimulatedExchange, pairs: KrakenPairs, days: Mapping[str, KrakenDay]) -> None:
        self._exchange = exchange
        self._pairs = pairs
        self._days = days

    def calls(self) -> dict[str, Call]:
        return {
            "Time": Call(self._time),
            "SystemStatus": Call(self._status),
            "Assets": Call(self._assets, known("asset", "aclass")),
            "AssetPairs": Call(
                self._asset_pairs, known("pair", "info", "aclass_base", "country_code", "execution_venue")
            ),
            "Ticker": Call(self._ticker, known("pair", _CLASS)),
            "Depth": Call(self._depth, known("pair", "count", _CLASS)),
            "Trades": Call(self._trades, known("pair", "since", "count", _CLASS)),
            "OHLC": Call(self._candles, known("pair", "interval", "since", _CLASS)),
        }

    def _time(self, _fields: Fields) -> object:
        now = self._exchange.clock.now() // MICROSECONDS
        moment = datetime.fromtimestamp(now, UTC)
        return {"unixtime": now, "rfc1123": f"{moment:%a}, {moment.day:2d} {moment:%b %y %H:%M:%S} +0000"}

    def _status(self, _fields: Fields) -> object:
        moment = datetime.fromtimestamp(self._exchange.clock.now() // MICROSECONDS, UTC)
        return {"status": "online", "timestamp": f"{moment:%Y-%m-%dT%H:%M:%SZ}"}

    def _assets(self, fields: Fields) -> object:
        rows = asset_rows()
        return {name: rows[name] for name in assets_in(fields) or rows}

    def _asset_pairs(self, fields: Fields) -> object:
        """Return the pairs; none of tokenized shares, which are not simulated."""
        if fields.get("aclass_base", "currency") == "tokenized_asset":
            return {}
        return {listing.market_id: pair_row(listing) for listing in self._pairs.all_in(fields)}

    def _ticker(self, fields: Fields) -> object:
        return {row.market_id: self._days[row.market.symbol].rest_row() for row in self._pairs.all_in(fields)}

    def _depth(self, fields: Fields) -> object:
        listing = self._pairs.one(text_field(fields, "pair"))
        book, now = self._exchange.books[listing.market.symbol], self._exchange.clock.now() // MICROSECONDS
        sides = levels_of(listing, book, min(count_field(fields, "count", 100), _DEEPEST))
        return {listing.market_id: {name: [[*level, now] for level in levels] for name, levels in sides.items()}}

    def _trades(self, fields: Fields) -> object:
        """Return trades, oldest first: those after `since`, else the newest; `last` is the `since` of the next call."""
        listing, count = self._pairs.one(text_field(fields, "pair")), min(count_field(fields, "count", KEPT), KEPT)
        trades = self._exchange.tape.newest(listing.market.symbol, KEPT)[::-1]
        if not fields.get("since"):
            trades = trades[-count:] if count else []
        else:
            since = moment_field(fields, "since")
            micros = since / 1_000 if since >= _FEWEST_NANOSECONDS else since * MICROSECONDS
            trades = [trade for trade in trades if trade.traded_at > micros][:count]
        now = trades[-1].traded_at if trades else self._exchange.clock.now()
        return {listing.market_id: [public_trade_row(trade, listing) for trade in trades], "last": str(now * 1_000)}

    def _candles(self, fields: Fields) -> object:
        """Return candles, oldest first: those after `since`, at most the newest 720; `last` began before the one that
        is still open."""
        listing, minutes = self._pairs.one(text_field(fields, "pair")), count_field(fields, "interval", 1)
        if minutes not in CANDLE_MINUTES:
            raise RequestRejectedError("invalid_request", "interval")
        interval, now = Interval(minutes * 60), self._exchange.clock.now()
        since = moment_field(fields, "since") * MICROSECONDS if fields.get("since") else -1
        candles = self._exchange.tape.candles[listing.market.symbol].unbroken(interval, now)
        found = [candle for candle in candles if candle.began > since][-_MOST_CANDLES:]
        rows = [candle_row(candle, listing) for candle in found]
        last = interval.start(now) // MICROSECONDS - interval.seconds
        return {listing.market_id: rows, "last": last}


def moment_field(fields: Fields, name: str) -> Decimal:
    """Return a time since 1970, in whatever unit. Raises RequestRejectedError."""
    moment = decimal_field(fields, name, "invalid_request")
    if not 0 <= moment <= _LATEST:
        raise RequestRejectedError("invalid_request", name)
    return moment


def assets_in(fields: Fields) -> list[str]:
    """Return ids of the assets that `asset` lists, by id or by other name; none if it is missing or all are meant."""
    text = str(fields.get("asset") or "all")
    if text == "all":
        return []
    by_name = {str(name): asset_id for asset_id, row in asset_rows().items() for name in (asset_id, row["altname"])}
    if not set(text.split(",")) <= set(by_name):
        raise RequestRejectedError("invalid_request", "asset")
    return [by_name[name] for name in text.split(",")]
