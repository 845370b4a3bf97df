"""What an exchange's book really was, moment by moment, and how old the quotes were that were believed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from market.instruments.orders import Side
from market.prices.quotes import FeedMark, Level, Quote
from pricefeeds.quoting.book_comparison import COMPARED_LEVELS
from pricefeeds.quoting.symbol_feed import Row
from simulators.matching.simulated_exchange import SimulatedExchange

_Levels = tuple[tuple[Decimal, Decimal], ...]
Book = tuple[_Levels, _Levels]
_SIDES: tuple[Side, Side] = ("buy", "sell")


@dataclass(slots=True)
class Truth:
    """The best levels of one market after each step of its exchange, with the time of each change."""

    exchange: SimulatedExchange
    symbol: str
    _books: list[tuple[int, tuple[tuple[tuple[int, int], ...], ...]]] = field(default_factory=list)

    def keep(self, now: int) -> None:
        book = self.exchange.books[self.symbol]
        levels = tuple(tuple(book.levels(side, COMPARED_LEVELS)) for side in _SIDES)
        if not self._books or self._books[-1][1] != levels:
            self._books.append((now, levels))

    def books(self) -> list[tuple[int, Book]]:
        """When each came to stand."""
        listing = self.exchange.listings[self.symbol]
        return [
            (
                at,
                (
                    tuple((listing.price(ticks), listing.amount(lots)) for ticks, lots in bids),
                    tuple((listing.price(ticks), listing.amount(lots)) for ticks, lots in asks),
                ),
            )
            for at, (bids, asks) in self._books
        ]


@dataclass(frozen=True, slots=True)
class Belief:
    """A quote that the log's readers believed from `since` until `until`."""

    quote: Quote
    since: int
    until: int
    is_new: bool
    """Whether no other quote stood before it."""


def beliefs(rows: Sequence[Row], now: int) -> list[Belief]:
    """From rows that were published, the last of which counts until `now`."""
    found: list[Belief] = []
    standing: tuple[Quote, int, bool] | None = None
    for row in rows:
        if isinstance(row, Quote):
            if standing is not None:
                found.append(Belief(standing[0], standing[1], row.received_time, standing[2]))
            standing = (row, row.received_time, standing is None)
        elif isinstance(row, FeedMark) and row.kind.endswith("withdrawn") and standing is not None:
            found.append(Belief(standing[0], standing[1], row.received_time, standing[2]))
            standing = None
    if standing is not None:
        found.append(Belief(standing[0], standing[1], now, standing[2]))
    return found


def oldest_belief(rows: Sequence[Row], books: Sequence[tuple[int, Book]], now: int) -> int:
    """Return the longest time in microseconds for which what was believed had not been the exchange's book any more.

    A book that never was true is as old as the last true one believed before it without a withdrawal in between, and
    without such a one as its own arrival.
    """
    ends = [at for at, _ in books[1:]] + [now]
    oldest, true_until = 0, 0
    for belief in beliefs(rows, now):
        if belief.is_new:
            true_until = belief.since
        best = _best(belief.quote)
        stood = [
            min(end, belief.until)
            for (at, book), end in zip(books, ends, strict=True)
            if book == best and at <= belief.until
        ]
        true_until = max([true_until, *stood])
        oldest = max(oldest, belief.until - true_until)
    return oldest


def _best(quote: Quote) -> Book:
    return _levels(quote.bids), _levels(quote.asks)


def _levels(levels: Sequence[Level]) -> _Levels:
    return tuple((level.price, level.amount) for level in levels[:COMPARED_LEVELS])
