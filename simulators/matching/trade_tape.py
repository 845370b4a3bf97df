"""The public trades of one simulated exchange."""

from array import array
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, takewhile

from market.instruments.orders import Side
from simulators.matching.candles import Candles
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade
from simulators.matching.put_off_steps import MarketValues

KEPT = 1_000
_SLACK = 250
"""Trades beyond those kept after which the oldest are dropped."""
_FIELDS = 4


class _NewestTrades:
    """The newest trades of one market, as whole numbers: five exchanges list 253 markets, and a trade as an object
    takes ten times as much memory."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._rows = array("q")

    def append(self, trade: PublicTrade) -> None:
        ticks, lots = self._listing.ticks(trade.price), self._listing.lots(trade.amount)
        self._rows.extend((2 * trade.number + (trade.side == "buy"), ticks, lots, trade.traded_at))
        if len(self._rows) > (KEPT + _SLACK) * _FIELDS:
            del self._rows[: _SLACK * _FIELDS]

    def __iter__(self) -> Iterator[PublicTrade]:
        return reversed(list(reversed(self)))

    def __reversed__(self) -> Iterator[PublicTrade]:
        """Return the trades newest first, at most KEPT."""
        oldest = max(0, len(self._rows) - KEPT * _FIELDS)
        for place in range(len(self._rows) - _FIELDS, oldest - 1, -_FIELDS):
            number, ticks, lots, traded_at = self._rows[place : place + _FIELDS]
            price, amount = self._listing.price(ticks), self._listing.amount(lots)
            side: Side = "buy" if number % 2 else "sell"
            yield PublicTrade(number // 2, self._listing.market.symbol, side, price, amount, traded_at)


class TradeTape:
    """The newest trades of each market, its candles, and the trades not published yet.

    `look` is called before a market's trades are read.
    """

    def __init__(self, listings: Mapping[str, Listing], look: Callable[[str], None]) -> None:
        self._look = look
        self._kept = {symbol: _NewestTrades(listing) for symbol, listing in listings.items()}
        self._unpublished: dict[str, list[PublicTrade]] = {symbol: [] for symbol in self._kept}
        self._candles = {symbol: Candles(trades) for symbol, trades in self._kept.items()}
        self.candles = MarketValues(self._candles, look)

    def write(self, trade: PublicTrade) -> None:
        self._kept[trade.symbol].append(trade)
        self._unpublished[trade.symbol].append(trade)
        self._candles[trade.symbol].add(trade)

    def newest(self, symbol: str, limit: int) -> list[PublicTrade]:
        """Return the newest first, at most KEPT."""
        self._look(symbol)
        return list(islice(reversed(self._kept[symbol]), limit))

    def after(self, symbol: str, number: int) -> list[PublicTrade]:
        """Return the trades with a greater number, the newest first, at most KEPT."""
        self._look(symbol)
        return list(takewhile(lambda trade: trade.number > number, reversed(self._kept[symbol])))

    def drain(self, symbol: str) -> list[PublicTrade]:
        """Return trades since the last call, oldest first."""
        self._look(symbol)
        trades = self._unpublished[symbol]
        self._unpublished[symbol] = []
        return trades
