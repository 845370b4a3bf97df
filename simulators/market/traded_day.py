"""Ticker figures of the last 24 hours of one market."""

from collections import deque
from dataclasses import dataclass
from decimal import Decimal

from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.matching.candles import MINUTE, Candle, extend
from simulators.matching.order_records import PublicTrade

DAY = 24 * 3_600 * MICROSECONDS


@dataclass(frozen=True, slots=True)
class DayFigures:
    """Prices in quote, `volume` in base currency; `last` is the newest trade."""

    open: Decimal
    high: Decimal
    low: Decimal
    volume: Decimal
    average: Decimal
    """Weighted by volume."""
    last: PublicTrade
    count: int


class TradedDay:
    """Stored by the minute: trades are dropped minute by minute."""

    def __init__(self) -> None:
        self._minutes: deque[Candle] = deque()
        self._last: PublicTrade | None = None

    def add(self, trade: PublicTrade) -> None:
        """Trades come in order of time."""
        self._last = trade
        extend(self._minutes, MINUTE, Candle.of(trade))
        self._forget(self._minutes[-1].began - DAY)

    def figures(self, now: int) -> DayFigures | None:
        """None where nothing was traded in the 24 hours before `now` (microseconds)."""
        self._forget(now - DAY)
        if not self._minutes or self._last is None:
            return None
        volume = sum((minute.volume for minute in self._minutes), ZERO)
        value = sum((minute.value for minute in self._minutes), ZERO)
        return DayFigures(
            open=self._minutes[0].open,
            high=max(minute.high for minute in self._minutes),
            low=min(minute.low for minute in self._minutes),
            volume=volume,
            average=value / volume,
            last=self._last,
            count=sum(minute.count for minute in self._minutes),
        )

    def _forget(self, oldest: int) -> None:
        while self._minutes and self._minutes[0].began < oldest:
            self._minutes.popleft()
