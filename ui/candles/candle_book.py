"""The candles of every market as quotes come: the ones that grow, and those over that wait for the disk. No I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from market.money import decimal_of
from market.prices.candles import INTERVALS, QuoteCandle, candle_start, merged_candles, united
from streams.message_format import WireError
from ui.candles.candle_files import KEPT, KeptInterval

MarketName = tuple[str, str]
"""Exchange and symbol."""
MOST_WAITING = 900
"""Of one market and interval, should the disk take none: a quarter of an hour of seconds."""
ALIVE, WITHDRAWN = ("alive", "fx_alive"), ("withdrawn", "fx_withdrawn")


@dataclass(slots=True)
class MarketCandles:
    """One market's candles. A price that is still valid goes on; one that was withdrawn does not."""

    growing: dict[KeptInterval, QuoteCandle] = field(default_factory=dict)
    waiting: dict[KeptInterval, list[QuoteCandle]] = field(default_factory=lambda: {name: [] for name in KEPT})
    """Over, and maybe not on disk yet; oldest first."""
    sequence: int = -1
    written_until: int = 0
    """Seconds before this are on disk: a row that is read again after a restart changes nothing."""
    top: tuple[Decimal, Decimal] | None = None
    """The newest bid and ask, if they are valid."""

    def add_quote(self, time: int, sequence: int, bid: Decimal, ask: Decimal) -> None:
        """Add a quote that arrived at `time`, microseconds; an older one than the newest changes nothing."""
        if sequence <= self.sequence:
            return
        self.sequence = sequence
        self.top = bid, ask
        self._add(time, bid, ask, 1)

    def add_alive(self, time: int) -> None:
        if self.top is not None:
            self._add(time, *self.top, 0)

    def withdraw(self) -> None:
        self.top = None

    def resume(self, minutes: Iterable[QuoteCandle], seconds: Iterable[QuoteCandle], written_until: int) -> None:
        """Go on behind what is on disk: minutes and seconds that are in no longer candle yet, and until when there are
        seconds."""
        self.written_until = written_until
        for minute in minutes:
            self._put("1h", minute)
        for second in seconds:
            self._put("1m", second)

    def newest(self, interval: KeptInterval) -> list[QuoteCandle]:
        """Return those that may not be on disk, and the one that grows; oldest first."""
        return [*self.waiting[interval], *self._growing_up_to(interval)]

    def forget_written(self, interval: KeptInterval, until: int) -> None:
        """Those with start < `until` are on disk."""
        self.waiting[interval] = [one for one in self.waiting[interval] if one.start >= until]

    def _growing_up_to(self, interval: KeptInterval) -> list[QuoteCandle]:
        """Return the one that grows, with what grows in the shorter ones; two if it is over and no next one began."""
        own = self.growing.get(interval)
        parts = [] if own is None else [own]
        if interval != KEPT[0]:
            parts += self._growing_up_to(KEPT[KEPT.index(interval) - 1])
        return list(merged_candles(parts, INTERVALS[interval]))

    def _add(self, time: int, bid: Decimal, ask: Decimal, quotes: int) -> None:
        start = candle_start(time, INTERVALS["1s"])
        grown = self.growing.get("1s")
        if start < self.written_until or (grown is not None and start < grown.start):
            return
        mid = (bid + ask) / 2
        self._put("1s", QuoteCandle(start, mid, mid, mid, mid, bid, ask, quotes))

    def _put(self, interval: KeptInterval, part: QuoteCandle) -> None:
        """Let `part` grow the candle it belongs to; the one before is over then, and part of the next longer one."""
        start = candle_start(part.start, INTERVALS[interval])
        grown = self.growing.get(interval)
        if grown is None or grown.start != start:
            if grown is not None:
                self._end(interval, grown)
            self.growing[interval] = replace(part, start=start)
        else:
            self.growing[interval] = united(start, (grown, part))

    def _end(self, interval: KeptInterval, candle: QuoteCandle) -> None:
        waiting = self.waiting[interval]
        waiting.append(candle)
        del waiting[:-MOST_WAITING]
        if interval != KEPT[-1]:
            self._put(KEPT[KEPT.index(interval) + 1], candle)


class CandleBook:
    """The candles of all markets that were quoted."""

    def __init__(self) -> None:
        self.markets: dict[MarketName, MarketCandles] = {}

    def apply_tick(self, row: Mapping[str, Any]) -> None:
        """Apply a row of `ticks`; other kinds than quotes and marks are ignored. Raises WireError."""
        try:
            kind = row["kind"]
            if kind in ("quote", "fx"):
                bid, ask = _price(row["bid"]), _price(row["ask"])
                self.of(row["exchange"], row["symbol"]).add_quote(row["received_time"], row["sequence"], bid, ask)
            elif kind in ALIVE:
                self.of(row["exchange"], row["symbol"]).add_alive(row["received_time"])
            elif kind in WITHDRAWN:
                self.of(row["exchange"], row["symbol"]).withdraw()
        except (KeyError, TypeError, ValueError) as error:
            raise WireError(f"not a row of ticks: {error!r}") from error

    def of(self, exchange: str, symbol: str) -> MarketCandles:
        """Return a market's candles; empty ones if it was not quoted yet."""
        known = self.markets.get((exchange, symbol))
        if known is None:
            known = self.markets[exchange, symbol] = MarketCandles()
        return known


def _price(text: str) -> Decimal:
    """Raise ValueError for what is no price: feeds let none through, and a spread divides by it."""
    price = decimal_of(text)
    if price <= 0:
        raise ValueError(f"{text} is no price")
    return price
