"""Ticker figures of the last 24 hours of one market."""

from dataclasses import dataclass, replace
from decimal import Decimal

from market.time_units import MICROSECONDS
from simulators.matching.candles import MINUTE, Candle, KeptCandles
from simulators.matching.order_records import PublicTrade

DAY = 24 * 3_600 * MICROSECONDS
_MINUTES = 24 * 60 + 2
"""More minutes than a day has."""


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
    """Trades of a day, stored by the minute: they are dropped minute by minute."""

    def __init__(self) -> None:
        self._minutes = KeptCandles(MINUTE, _MINUTES)
        self._oldest = 0
        """When the first of them began."""
        self._ended: Candle | None = None
        """All trades but the last, as one."""
        self._minute: Candle | None = None
        """The last trade."""
        self._last: PublicTrade | None = None

    def add(self, trade: PublicTrade) -> None:
        """Add a trade; trades come in order of time."""
        self._last = trade
        ended = self._minutes.add(Candle.of(trade))
        self._minute = next(reversed(self._minutes))
        if ended is not None:
            self._ended = _together(self._ended, ended)
        elif self._ended is None:
            self._oldest = self._minute.began
        self._forget(self._minute.began - DAY)

    def figures(self, now: int) -> DayFigures | None:
        """Return the figures; None if nothing was traded in the 24 hours before `now` (microseconds)."""
        self._forget(now - DAY)
        if self._minute is None or self._last is None:
            return None
        day = _together(self._ended, self._minute)
        return DayFigures(
            open=day.open,
            high=day.high,
            low=day.low,
            volume=day.volume,
            average=day.average,
            last=self._last,
            count=day.count,
        )

    def _forget(self, oldest: int) -> None:
        if not self._minutes or self._oldest >= oldest:
            return
        kept = list(self._minutes)
        while kept and kept[0].began < oldest:
            kept.pop(0)
            self._minutes.pop_oldest()
        self._oldest = kept[0].began if kept else 0
        self._minute = kept.pop() if kept else None
        self._ended = None
        for minute in kept:
            self._ended = _together(self._ended, minute)


def _together(before: Candle | None, later: Candle) -> Candle:
    """Return both as one new candle."""
    if before is None:
        return replace(later)
    joined = replace(before)
    joined.join(later)
    return joined
