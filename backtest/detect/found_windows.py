"""What detection found, as columns in the order of trading: windows, as far as all files are known."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backtest.detect.found_opportunities import FoundBatch, batches_of, files_of
from backtest.detect.found_runs import exchange_ranks
from backtest.detect.sighting_windows import Figures, Integers, ShownColumns, SightingWindow
from cep.detection.kernel.records import NONE
from cep.detection.market_layout import Layout
from market.prices.episodes import MarketPair

Key = tuple[int, str, int, int, int]
"""Time, base, place in the log, ranks of both exchanges: as `backtest.simulate.trade_simulation.trading_order`."""


def windows_of(folder: Path, layout: Layout) -> Iterator[SightingWindow]:
    """Return what `found_opportunities.sightings_of` returns, in the same order. Memory: a batch per file. Raises
    WireError for a number that is not finite."""
    ranks = exchange_ranks(layout)
    cursors = [one for one in (_Cursor(batches_of(path, layout), ranks) for path in files_of(folder)) if one.fill()]
    while cursors:
        # what is up to the first end of a batch is known of every file
        end = min(one.last for one in cursors)
        parts = [one.until(end) for one in cursors]
        yield _window([part for part in parts if part.end > part.start], layout)
        cursors = [one for one in cursors if one.fill()]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Consecutive hits of one batch."""

    batch: FoundBatch
    start: int
    end: int

    def column(self, name: str) -> Any:
        return self.batch.column(name)[self.start : self.end]


class _Cursor:
    """How far one file is taken."""

    def __init__(self, batches: Iterator[FoundBatch], ranks: tuple[Integers, Integers]) -> None:
        self._batches = batches
        self._ranks = ranks
        self._start = 0
        self._batch: FoundBatch | None = None

    def fill(self) -> bool:
        """Return whether there is more of the file."""
        while self._batch is None or self._start == len(self._batch):
            self._batch, self._start = next(self._batches, None), 0
            if self._batch is None:
                return False
        return True

    @property
    def last(self) -> Key:
        """Return the key of the last hit of its batch."""
        batch = self._filled
        return self._key(batch, len(batch) - 1)

    def until(self, key: Key) -> _Part:
        """Take the hits up to this key."""
        batch, start = self._filled, self._start
        end = start + int(np.searchsorted(batch.column("received_time")[start:], key[0]))
        while end < len(batch) and self._key(batch, end) <= key:
            end += 1
        self._start = end
        return _Part(batch, start, end)

    @property
    def _filled(self) -> FoundBatch:
        if self._batch is None:
            raise LookupError("the file is at its end")
        return self._batch

    def _key(self, batch: FoundBatch, number: int) -> Key:
        codes, bases = batch.bases
        time, offset, pair = (int(batch.column(name)[number]) for name in ("received_time", "offset", "pair"))
        buy, sell = (int(ranks[pair]) for ranks in self._ranks)
        return time, bases[int(codes[number])], offset, buy, sell


def _window(parts: list[_Part], layout: Layout) -> SightingWindow:
    codes, pairs = _codes(parts, layout)
    times = _joined(parts, "received_time")
    order = _order(parts, layout, times)
    numbers = [np.arange(part.start, part.end) for part in parts]
    sources = np.repeat(np.arange(len(parts)), [len(one) for one in numbers])[order].tolist()
    places = np.concatenate(numbers)[order].tolist()
    figures = Figures(
        codes=codes,
        times=times,
        expires=times + _joined(parts, "opportunity_lifetime"),
        net_bps=_joined(parts, "net_bps"),
        profits=np.concatenate([part.batch.expected_profits[part.start : part.end] for part in parts]),
        buy_ages=_joined(parts, "buy_age"),
        sell_ages=_joined(parts, "sell_age"),
        buy_prices=_joined(parts, "buy_price"),
        sell_prices=_joined(parts, "sell_price"),
        has_rates=(_joined(parts, "buy_rate") != NONE) | (_joined(parts, "sell_rate") != NONE),
    )

    def books() -> tuple[ShownColumns, ShownColumns]:
        asks, bids = zip(*(part.batch.books(part.start, part.end) for part in parts), strict=True)
        sides = (ShownColumns._make(map(np.concatenate, zip(*side, strict=True))) for side in (asks, bids))
        first, second = (side.taken(order) for side in sides)
        return first, second

    return SightingWindow(
        pairs=pairs,
        figures=Figures._make(column[order] for column in figures),
        currency=layout.settlement,
        sighting=lambda place: parts[sources[place]].batch.sighting(places[place]),
        read_books=books,
        uses=lambda ids: np.concatenate([part.batch.uses(ids)[part.start : part.end] for part in parts])[order],
    )


def _joined(parts: list[_Part], name: str) -> Any:
    return np.concatenate([part.column(name) for part in parts])


def _codes(parts: list[_Part], layout: Layout) -> tuple[Integers, list[MarketPair]]:
    """Return a number for each hit, and the pairs that the numbers stand for."""
    known, raw, pairs = dict[str, int](), list[Integers](), layout.pairs
    for part in parts:
        codes, bases = part.batch.bases
        own = np.array([known.setdefault(base, len(known)) for base in bases], dtype=np.int64)
        raw.append(own[codes[part.start : part.end]] * len(pairs) + part.column("pair"))
    used, inverse = np.unique(np.concatenate(raw), return_inverse=True)
    names = list(known)
    return inverse, [_pair(names[code // len(pairs)], pairs[code % len(pairs)], layout) for code in used.tolist()]


def _pair(base: str, slots: tuple[int, int], layout: Layout) -> MarketPair:
    buy, sell = (layout.slots[number] for number in slots)
    return base, buy.exchange, dict(buy.symbols)[base], sell.exchange, dict(sell.symbols)[base]


def _order(parts: list[_Part], layout: Layout, times: Integers) -> Integers:
    """Return the places in the order of trading; a file is in it by itself."""
    if len(parts) == 1:
        return np.arange(len(times))
    numbers = sorted({base for part in parts for base in part.batch.bases[1]})
    bases = []
    for part in parts:
        codes, names = part.batch.bases
        bases.append(np.array([numbers.index(name) for name in names])[codes[part.start : part.end]])
    buys, sells = (ranks[_joined(parts, "pair")] for ranks in exchange_ranks(layout))
    order: Integers = np.lexsort((sells, buys, _joined(parts, "offset"), np.concatenate(bases), times))
    return order
