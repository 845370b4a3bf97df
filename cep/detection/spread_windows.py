"""Spread windows: statistics of the net spread of every pair of exchanges over sliding windows of the log.

    rows of the log → spread of each pair at each row → panes of one second → windows of 10 s / 1 s and 60 s / 5 s

A pane is the sum over one second that every window holding it shares, so a row is counted once and not in 22 windows.
Mean, deviation, maximum and share come out of panes as they would out of rows, except for the last bits of a sum.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any

from cep.detection.market_layout import Layout
from cep.detection.spread_rows import BaseSpreads, LogRow, PairSpread
from market.prices.spread_statistics import SpreadWindow

PANE = 1_000_000
WINDOWS = ((10_000_000, 1_000_000), (60_000_000, 5_000_000))
"""Length and slide in microseconds; a slide is a multiple of a pane and a length a multiple of its slide."""
LONGEST = max(length for length, _ in WINDOWS)
LATENESS = 1_000_000
"""A window is written when its base's log is so far past its end; a row later than that is left out."""

_Pair = tuple[str, str]


@dataclass(slots=True)
class _Pane:
    """Sums over the rows of one pair in one second."""

    rows: int = 0
    sum_bps: float = 0.0
    sum_squares: float = 0.0
    max_bps: float = -inf
    above: int = 0

    def add(self, spread: PairSpread) -> None:
        self.rows += 1
        self.sum_bps += spread.net_bps
        self.sum_squares += spread.net_bps * spread.net_bps
        self.max_bps = max(self.max_bps, spread.net_bps)
        self.above += spread.is_above


@dataclass(slots=True)
class _BaseWindows:
    """One base: its newest quotes, the panes of the last minute, and up to when windows were written."""

    spreads: BaseSpreads
    panes: dict[_Pair, dict[int, _Pane]] = field(default_factory=dict)
    begin: int | None = None
    """The end of the first second with a spread: a window that begins earlier may lack rows."""
    newest: int = 0
    closed: int = 0

    def add(self, row: LogRow) -> None:
        if row.matters:
            self.newest = max(self.newest, row.received_time)
        second = row.received_time - row.received_time % PANE
        for spread in self.spreads.learn(row):
            if self.begin is None or second + PANE < self.begin:
                self.begin = second + PANE
            pair = self.panes.setdefault((spread.buy_exchange, spread.sell_exchange), {})
            pair.setdefault(second, _Pane()).add(spread)

    def close(self, base: str) -> list[SpreadWindow]:
        """Return the windows that ended since the last call, and a second before the newest row."""
        until = max(self.closed, self.newest - LATENESS)
        windows = [
            window
            for length, slide in WINDOWS
            for end in self._ends(length, slide, until)
            for window in self._windows(base, end - length, end)
        ]
        self.closed = until
        for panes in self.panes.values():
            for second in [second for second in panes if second + LONGEST < until]:
                del panes[second]
        return windows

    def _ends(self, length: int, slide: int, until: int) -> range:
        if self.begin is None:
            return range(0)
        first = max(self.closed + 1, self.begin + length)
        return range(first + -first % slide, until + 1, slide)

    def _windows(self, base: str, start: int, end: int) -> Iterator[SpreadWindow]:
        for (buy_exchange, sell_exchange), panes in self.panes.items():
            found = [panes[second] for second in range(start, end, PANE) if second in panes]
            if found:
                yield _window(base, buy_exchange, sell_exchange, start, end, found)


class SpreadWindows:
    """Spread windows of all bases. Takes the log in pieces; the result does not depend on where it is cut."""

    def __init__(self, layout: Layout, opening: Mapping[str, Any] | None) -> None:
        """Begin with `opening`: the settings in force before the first row; None: none."""
        self._layout = layout
        self._opening = opening
        self._bases: dict[str, _BaseWindows] = {}

    def closed_by(self, rows: Iterable[LogRow]) -> list[SpreadWindow]:
        """Return the windows that these rows close; each base's rows in the order of its log."""
        for row in rows:
            known = self._bases.get(row.base)
            if known is None:
                known = self._bases[row.base] = _BaseWindows(BaseSpreads(self._layout, self._opening))
            known.add(row)
        return [window for base, known in self._bases.items() for window in known.close(base)]


def _window(base: str, buy: str, sell: str, start: int, end: int, panes: list[_Pane]) -> SpreadWindow:
    rows = sum(pane.rows for pane in panes)
    mean = sum(pane.sum_bps for pane in panes) / rows
    # of the population; the difference of two nearly equal sums may be slightly below zero
    variance = max(0.0, sum(pane.sum_squares for pane in panes) / rows - mean * mean)
    return SpreadWindow(
        base=base,
        buy_exchange=buy,
        sell_exchange=sell,
        start=start,
        end=end,
        mean_bps=mean,
        deviation=sqrt(variance),
        max_bps=max(pane.max_bps for pane in panes),
        share_above=sum(pane.above for pane in panes) / rows,
        rows=rows,
    )
