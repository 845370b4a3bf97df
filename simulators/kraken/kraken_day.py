"""Data of Kraken's tickers: best prices, and the trades of today (UTC) and of the last 24 hours."""

from decimal import ROUND_HALF_UP, Decimal

import orjson

from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.market.traded_day import DayFigures, TradedDay
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_records import PublicTrade
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.json_digits import exact

_DAY = 86_400 * MICROSECONDS
_PERCENT_STEP = Decimal("0.01")


class KrakenDay:
    """The day of one market, from the trades added to it."""

    def __init__(self, exchange: SimulatedExchange, listing: Listing) -> None:
        self._exchange = exchange
        self._listing = listing
        self._rolling = TradedDay()
        self._today = TradedDay()
        self._midnight = 0

    def add(self, trade: PublicTrade) -> None:
        """Trades come in order of time."""
        self._turn(trade.traded_at)
        self._rolling.add(trade)
        self._today.add(trade)

    def rest_row(self) -> dict[str, object]:
        """As the REST ticker has it: pairs are [today, last 24 hours]."""
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
        """As the `ticker` channel has it: numbers, of the last 24 hours."""
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
        return {"symbol": self._listing.market.symbol, **_numbers(texts)}

    def best(self) -> object:
        """Best prices and their amounts, to tell whether they have changed."""
        return self._best()

    def _best(self) -> tuple[tuple[str, int], tuple[str, int]]:
        book = self._exchange.books[self._listing.market.symbol]
        bid, ask = book.best("buy") or 0, book.best("sell") or 0
        bids, asks = book.lots_at("buy", bid), book.lots_at("sell", ask)
        return (self._listing.price_text(bid), bids), (self._listing.price_text(ask), asks)

    def _figures(self) -> tuple[DayFigures, DayFigures]:
        """Of a market without trades, all prices are the best bid's."""
        now = self._exchange.clock.now()
        self._turn(now)
        symbol = self._listing.market.symbol
        bid = self._listing.price(self._exchange.books[symbol].best("buy") or 0)
        none = DayFigures(bid, bid, bid, ZERO, bid, PublicTrade(0, symbol, "buy", bid, ZERO, now), 0)
        return self._today.figures(now) or none, self._rolling.figures(now) or none

    def _turn(self, now: int) -> None:
        midnight = now // _DAY * _DAY
        if midnight > self._midnight:
            self._midnight, self._today = midnight, TradedDay()

    def _amounts(self, lots: int) -> list[str]:
        """What Kraken calls the whole lot volume, and the lot volume."""
        amount = self._listing.amount(lots)
        return [str(int(amount)), fixed_text(amount.quantize(Decimal("0.001")), 3)]

    def _price(self, price: Decimal) -> str:
        step = self._listing.market.tick_size
        return fixed_text(price.quantize(step, rounding=ROUND_HALF_UP), self._listing.price_decimals)

    def _amount(self, amount: Decimal) -> str:
        return fixed_text(amount, 8)


def _numbers(texts: dict[str, str]) -> dict[str, orjson.Fragment]:
    return {name: exact(text) for name, text in texts.items()}
