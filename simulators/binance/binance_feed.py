"""Binance's market data of one market: its book with update ids, trades, tickers."""

from collections.abc import Iterable
from decimal import Decimal

from market.instruments.orders import Side
from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.binance.binance_endpoints import eight, milliseconds
from simulators.market.traded_day import DayFigures, TradedDay
from simulators.matching.listings import Listing
from simulators.matching.matching_engine import MatchingBook
from simulators.matching.order_records import PublicTrade
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Change, MarketStep

Message = dict[str, object]
_DAY = 86_400 * MICROSECONDS
_IDS_MICROSECONDS = 100
"""Update ids start at ten thousand per second since 1970, so that they grow across restarts."""


class PendingDepth:
    """Levels that changed since a depth stream's last message, with their current amounts."""

    def __init__(self) -> None:
        self._levels: dict[tuple[Side, int], int] = {}
        self._first = 0

    def add(self, first: int, changes: Iterable[Change]) -> None:
        if not self._levels:
            self._first = first
        for side, ticks, lots in changes:
            self._levels[side, ticks] = lots

    def drain(self) -> tuple[int, list[Change]]:
        """The first update id among them, and the levels; none where nothing changed."""
        changes = [(side, ticks, lots) for (side, ticks), lots in self._levels.items()]
        self._levels.clear()
        return self._first, changes


class BinanceFeed:
    def __init__(self, exchange: SimulatedExchange, listing: Listing) -> None:
        self.listing = listing
        self._exchange = exchange
        self._day = TradedDay()
        self._last_id = exchange.clock.now() // _IDS_MICROSECONDS
        self.pending = {"100ms": PendingDepth(), "1000ms": PendingDepth()}

    @property
    def book(self) -> MatchingBook:
        return self._exchange.books[self.listing.market.symbol]

    def take(self, step: MarketStep) -> None:
        """Each level that changed is one update."""
        for trade in step.trades:
            self._day.add(trade)
        first = self._last_id + 1
        self._last_id += len(step.changes)
        for pending in self.pending.values():
            pending.add(first, step.changes)

    def depth(self, limit: int) -> Message:
        """Of REST. What changed since the last step is in it already, and comes again with the next update ids."""
        return {
            "lastUpdateId": self._last_id,
            "bids": self._levels(("buy", *level) for level in self.book.levels("buy", limit)),
            "asks": self._levels(("sell", *level) for level in self.book.levels("sell", limit)),
        }

    def depth_update(self, speed: str) -> Message | None:
        """None where nothing changed."""
        first, changes = self.pending[speed].drain()
        if not changes:
            return None
        return {
            **self._head("depthUpdate"),
            "U": first,
            "u": self._last_id,
            "b": self._levels(change for change in changes if change[0] == "buy"),
            "a": self._levels(change for change in changes if change[0] == "sell"),
        }

    def book_ticker(self) -> Message:
        bid, bid_amount, ask, ask_amount = self._best()
        return {
            "u": self._last_id,
            "s": self.listing.market_id,
            "b": bid,
            "B": bid_amount,
            "a": ask,
            "A": ask_amount,
        }

    def trade(self, trade: PublicTrade) -> Message:
        return {**self._head("trade"), "t": trade.number, **_traded(trade), "M": True}

    def aggregate_trade(self, trade: PublicTrade) -> Message:
        """Of one trade: fills of one taker at one price come at their own microsecond each."""
        numbers = {"a": trade.number, "f": trade.number, "l": trade.number}
        return {**self._head("aggTrade"), **numbers, **_traded(trade), "M": True}

    def ticker(self) -> Message:
        """Of the stream."""
        row = self.day_row()
        return {**self._head("24hrTicker"), **{short: row[name] for short, name in _TICKER.items()}}

    def mini_ticker(self) -> Message:
        row = self.day_row()
        return {**self._head("24hrMiniTicker"), **{short: row[_TICKER[short]] for short in _MINI_TICKER}}

    def best_row(self) -> Message:
        bid, bid_amount, ask, ask_amount = self._best()
        return {
            "symbol": self.listing.market_id,
            "bidPrice": bid,
            "bidQty": bid_amount,
            "askPrice": ask,
            "askQty": ask_amount,
        }

    def day_row(self) -> Message:
        """REST's 24-hour ticker; zeros where nothing was traded."""
        now = self._exchange.clock.now()
        row = {**self.best_row(), "openTime": milliseconds(now - _DAY), "closeTime": milliseconds(now)}
        figures = self._day.figures(now)
        return {**row, **(_NOTHING_TRADED if figures is None else _figures_row(figures))}

    def last_price(self) -> str:
        return str(self.day_row()["lastPrice"])

    def _best(self) -> tuple[str, str, str, str]:
        sides: list[str] = []
        for side in ("buy", "sell"):
            for ticks, lots in self.book.levels(side, 1) or [(0, 0)]:
                sides += [eight(self.listing.price(ticks)), eight(self.listing.amount(lots))]
        bid, bid_amount, ask, ask_amount = sides
        return bid, bid_amount, ask, ask_amount

    def _levels(self, changes: Iterable[Change]) -> list[list[str]]:
        return [[eight(self.listing.price(ticks)), eight(self.listing.amount(lots))] for _, ticks, lots in changes]

    def _head(self, event: str) -> Message:
        return {"e": event, "E": milliseconds(self._exchange.clock.now()), "s": self.listing.market_id}


_TICKER = {
    "p": "priceChange",
    "P": "priceChangePercent",
    "w": "weightedAvgPrice",
    "x": "prevClosePrice",
    "c": "lastPrice",
    "Q": "lastQty",
    "b": "bidPrice",
    "B": "bidQty",
    "a": "askPrice",
    "A": "askQty",
    "o": "openPrice",
    "h": "highPrice",
    "l": "lowPrice",
    "v": "volume",
    "q": "quoteVolume",
    "O": "openTime",
    "C": "closeTime",
    "F": "firstId",
    "L": "lastId",
    "n": "count",
}
_MINI_TICKER = ("c", "o", "h", "l", "v", "q")


def _traded(trade: PublicTrade) -> Message:
    return {
        "p": eight(trade.price),
        "q": eight(trade.amount),
        "T": milliseconds(trade.traded_at),
        # the buyer is the maker where the taker sells
        "m": trade.side == "sell",
    }


def _rounded(number: Decimal, digits: int) -> str:
    return format(number.quantize(Decimal(1).scaleb(-digits)), "f")


def _figures_row(figures: DayFigures) -> Message:
    change = figures.last.price - figures.open
    return {
        "priceChange": eight(change),
        "priceChangePercent": _rounded(change * 100 / figures.open, 3),
        "weightedAvgPrice": _rounded(figures.average, 8),
        "prevClosePrice": eight(figures.open),
        "lastPrice": eight(figures.last.price),
        "lastQty": eight(figures.last.amount),
        "openPrice": eight(figures.open),
        "highPrice": eight(figures.high),
        "lowPrice": eight(figures.low),
        "volume": eight(figures.volume),
        "quoteVolume": _rounded(figures.average * figures.volume, 8),
        "firstId": figures.last.number - figures.count + 1,
        "lastId": figures.last.number,
        "count": figures.count,
    }


_NO_PRICES = (
    "priceChange",
    "weightedAvgPrice",
    "prevClosePrice",
    "lastPrice",
    "lastQty",
    "openPrice",
    "highPrice",
    "lowPrice",
    "volume",
    "quoteVolume",
)
_NOTHING_TRADED: Message = {
    **dict.fromkeys(_NO_PRICES, eight(ZERO)),
    "priceChangePercent": "0.000",
    "firstId": -1,
    "lastId": -1,
    "count": 0,
}
