"""Consecutive sightings as columns: what is refused all at once, and only then one by one if need be."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backtest.detect.sightings import Sighting
from market.prices.episodes import MarketPair
from market.prices.shown_sides import ShownSide

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class ShownColumns(NamedTuple):
    """`ShownSide` of many."""

    price: Doubles
    amount: Doubles
    last: Doubles
    is_sound: Flags

    def taken(self, places: Integers) -> "ShownColumns":
        """Return those at these places."""
        return ShownColumns._make(column[places] for column in self)


class Figures(NamedTuple):
    """The figures of `Sighting`, a row each; `codes` are places in the pairs of the window."""

    codes: Integers
    times: Integers
    expires: Integers
    net_bps: Doubles
    profits: Doubles
    buy_ages: Integers
    sell_ages: Integers
    buy_prices: Doubles
    """In the settlement currency."""
    sell_prices: Doubles
    has_rates: Flags


@dataclass(slots=True, eq=False)
class SightingWindow:
    """Sightings in the order of trading. Both sides' books are asked for at most once."""

    pairs: Sequence[MarketPair]
    figures: Figures
    currency: str
    sighting: Callable[[int], Sighting]
    """Return the one at a place."""
    read_books: Callable[[], tuple[ShownColumns, ShownColumns]]
    uses: Callable[[Collection[str]], Flags]
    """Return which of them are made from one of these quotes, by their ids."""
    _books: tuple[ShownColumns, ShownColumns] | None = None

    def __len__(self) -> int:
        return len(self.figures.codes)

    @property
    def books(self) -> tuple[ShownColumns, ShownColumns]:
        """Return the asks and the bids."""
        if self._books is None:
            self._books = self.read_books()
        return self._books


def side_columns(sides: Sequence[ShownSide]) -> ShownColumns:
    """Return sides as columns."""
    price, amount, last, is_sound = zip(*sides, strict=True) if sides else ((), (), (), ())
    prices, amounts, lasts = (np.array(column, dtype=np.float64) for column in (price, amount, last))
    return ShownColumns(prices, amounts, lasts, np.array(is_sound, dtype=np.bool_))
