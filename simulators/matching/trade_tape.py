"""The public trades of one simulated exchange."""

from collections import deque
from collections.abc import Callable, Iterable

from simulators.matching.candles import Candles
from simulators.matching.order_records import PublicTrade
from simulators.matching.put_off_steps import MarketValues

KEPT = 1_000


class TradeTape:
    """The newest trades of each market, its candles, and the trades not published yet.

    `look` is called before a market's trades are read.
    """

    def __init__(self, symbols: Iterable[str], look: Callable[[str], None]) -> None:
        self._look = look
        self._kept: dict[str, deque[PublicTrade]] = {symbol: deque(maxlen=KEPT) for symbol in symbols}
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
        trades = list(self._kept[symbol])
        return trades[::-1][:limit]

    def drain(self, symbol: str) -> list[PublicTrade]:
        """Trades since the last call, oldest first."""
        self._look(symbol)
        trades = self._unpublished[symbol]
        self._unpublished[symbol] = []
        return trades
