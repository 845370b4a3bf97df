"""Order books at the edge: the best levels of a side, turned into Decimal once."""

from collections.abc import Sequence
from dataclasses import dataclass

from market.money import Amount, Price, decimal_of
from market.quotes import MAX_LEVELS, Level

RawLevel = Sequence[float | str]
"""`[price, amount, …]` as exchanges and ccxt give it; anything behind the first two is left out."""


@dataclass(frozen=True, slots=True)
class BookTop:
    """Up to ten levels a side, best first; `exchange_time` in microseconds UTC, None where the exchange gives none."""

    bids: tuple[Level, ...]
    asks: tuple[Level, ...]
    exchange_time: int | None = None


def levels_of_side(side: Sequence[RawLevel]) -> tuple[Level, ...]:
    """The best levels of one side of a book that may change under us at the next await: copied, not referred to.

    Levels without amount are gone and left out. Raises ValueError for what is no number.
    """
    levels: list[Level] = []
    for raw in side:
        level = Level(Price(decimal_of(raw[0])), Amount(decimal_of(raw[1])))
        if level.amount != 0:
            levels.append(level)
        if len(levels) == MAX_LEVELS:
            break
    return tuple(levels)


def book_top(bids: Sequence[RawLevel], asks: Sequence[RawLevel], exchange_milliseconds: int | None = None) -> BookTop:
    """Raises ValueError for what is no number."""
    exchange_time = None if exchange_milliseconds is None else int(exchange_milliseconds) * 1_000
    return BookTop(levels_of_side(bids), levels_of_side(asks), exchange_time)
