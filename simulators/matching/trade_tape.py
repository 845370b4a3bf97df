"""The public trades of one simulated exchange."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from itertools import islice

from market.instruments.orders import Side
from simulators.matching.candles import Candles
from simulators.matching.order_records import PublicTrade
from simulators.matching.packed_rows import PackedRows
from simulators.matching.put_off_steps import MarketValues

KEPT = 1_000


class TradeTape:
    """The newest trades of each market, its candles, and the trades not published yet.

    `look` is called before a market's trades are read.
    """

    def __init__(self, symbols: Iterable[str], look: Callable[[str], None]) -> None:
        self._look = look
        self._kept = {symbol: PackedRows(KEPT, _text_of, partial(_trade_of, symbol)) for symbol in symbols}
        self._unpublished: dict[str, list[PublicTrade]] = {symbol: [] for symbol in self._kept}
        self._candles = {symbol: Candles(trades) for symbol, trades in self._kept.items()}
        self.candles = MarketValues(self._candles, look)

    def write(self, trade: PublicTrade) -> None:
        self._kept[trade.symbol].append(trade)
        self._unpublished[trade.symbol].append(trade)
        self._candles[trade.symbol].add(trade)

    def newest(self, symbol: str, limit: int) -> list[PublicTrade]:
        """Newest first, at most KEPT."""
        self._look(symbol)
        return list(islice(reversed(self._kept[symbol]), limit))

    def drain(self, symbol: str) -> list[PublicTrade]:
        """Trades since the last call, oldest first."""
        self._look(symbol)
        trades = self._unpublished[symbol]
        self._unpublished[symbol] = []
        return trades


def _text_of(trade: PublicTrade) -> str:
    return f"{trade.number} {trade.side} {trade.price} {trade.amount} {trade.traded_at}"


def _trade_of(symbol: str, text: str) -> PublicTrade:
    number, side, price, amount, traded_at = text.split()
    taker: Side = "buy" if side == "buy" else "sell"
    return PublicTrade(int(number), symbol, taker, Decimal(price), Decimal(amount), int(traded_at))
