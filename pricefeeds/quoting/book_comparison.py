"""Compares a REST book with the books that the stream showed at that time."""

from collections import deque
from collections.abc import Sequence
from decimal import Decimal
from itertools import chain
from typing import NamedTuple

from market.prices.book_top import BookTop
from market.prices.quotes import Level

COMPARED_LEVELS = 5
"""Levels compared per side. Fewer than ten, so that a level that just left the ten best does not count as missing."""
PERSISTENT_LEVELS = 8
"""A persistent level stays among this many per side all the time: in a moving market few levels stay among the five
best for two checks."""


class Doubt(NamedTuple):
    """A level that only the stream's book has; without an amount: a price that only REST has."""

    side: str
    price: Decimal
    amount: Decimal | None


class RecentBooks:
    """A stream's books of the last `keep` microseconds, and the one in force before them."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._books: deque[tuple[int, BookTop]] = deque()

    def add(self, top: BookTop, now: int) -> None:
        books = self._books
        books.append((now, top))
        while len(books) > 1 and books[1][0] < now - self._keep:
            books.popleft()

    def newest(self) -> BookTop | None:
        return self._books[-1][1] if self._books else None

    def between(self, since: int, until: int) -> list[BookTop]:
        """Return the book in force at `since`, and those received up to `until`."""
        books_then: list[BookTop] = []
        for at, top in self._books:
            if at > until:
                break
            if at <= since:
                books_then = [top]
            else:
                books_then.append(top)
        return books_then


def doubts(rest: BookTop, shown: Sequence[BookTop]) -> frozenset[Doubt]:
    """Differences between a REST book and the stream's books of that time.

    A level that the stream had all the time and REST lacks, or a price by REST that the stream never had. One check
    proves nothing: a busy exchange sends changes in batches, so a price, an amount or a whole book in between may never
    be sent. A doubt that a second check finds again, over all books since the first, is a mismatch.
    """
    return _side_doubts("bid", rest.bids, [top.bids for top in shown]) | _side_doubts(
        "ask", rest.asks, [top.asks for top in shown]
    )


def is_same(rest: BookTop, shown: BookTop | None) -> bool:
    """Whether the best levels of both are equal, amounts included."""
    if shown is None or not (rest.bids and rest.asks):
        return False
    return (
        rest.bids[:COMPARED_LEVELS] == shown.bids[:COMPARED_LEVELS]
        and rest.asks[:COMPARED_LEVELS] == shown.asks[:COMPARED_LEVELS]
    )


def _side_doubts(side: str, rest: Sequence[Level], shown: Sequence[Sequence[Level]]) -> frozenset[Doubt]:
    seen_prices = {level.price for level in chain.from_iterable(shown)}
    persistent = set.intersection(*(set(levels[:PERSISTENT_LEVELS]) for levels in shown)) if shown else set()
    missing = [Doubt(side, level.price, None) for level in rest[:COMPARED_LEVELS] if level.price not in seen_prices]
    unconfirmed = [Doubt(side, *level) for level in persistent.difference(rest)]
    return frozenset(missing + unconfirmed)
