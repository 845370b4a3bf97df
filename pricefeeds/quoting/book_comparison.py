"""Whether a book that the exchange shows by REST is one that its stream has shown."""

from collections import deque
from collections.abc import Sequence
from decimal import Decimal
from itertools import chain
from typing import NamedTuple

from market.prices.book_top import BookTop
from market.prices.quotes import Level

COMPARED_LEVELS = 5
"""Of each side. Fewer than a book has, so that a level which just left the ten best is none that is missing."""
STANDING_LEVELS = 8
"""Of each side, among which a level must be all the time to be one that stands: in a moving market few stay among the
very best for long enough to be doubted twice."""


class Doubt(NamedTuple):
    """A level that stands in the stream's book and not in REST's; without an amount: a price that only REST has."""

    side: str
    price: Decimal
    amount: Decimal | None


class RecentBooks:
    """The books that one stream showed in the last `keep` microseconds, and the one that stood before them."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._books: deque[tuple[int, BookTop]] = deque()

    def show(self, top: BookTop, now: int) -> None:
        books = self._books
        books.append((now, top))
        while len(books) > 1 and books[1][0] < now - self._keep:
            books.popleft()

    def newest(self) -> BookTop | None:
        return self._books[-1][1] if self._books else None

    def between(self, since: int, until: int) -> list[BookTop]:
        """The book that stood at `since`, and those that came until `until`."""
        stood: list[BookTop] = []
        for at, top in self._books:
            if at > until:
                break
            if at <= since:
                stood = [top]
            else:
                stood.append(top)
        return stood


def doubts(rest: BookTop, shown: Sequence[BookTop]) -> frozenset[Doubt]:
    """What speaks against a book by REST being a moment of what the stream showed meanwhile.

    A level that the stream showed all the time and REST does not show just so, and a price by REST that the stream
    never showed. One look proves nothing: a busy exchange sends changes in batches, so that a price, an amount and a
    whole book in between are never shown although nothing is wrong. A doubt that a second look confirms, over all that
    was shown since the first, is a difference.
    """
    return _side_doubts("bid", rest.bids, [top.bids for top in shown]) | _side_doubts(
        "ask", rest.asks, [top.asks for top in shown]
    )


def is_same(rest: BookTop, shown: BookTop | None) -> bool:
    """Whether the best levels of both are equal, amounts and all."""
    if shown is None or not (rest.bids and rest.asks):
        return False
    return (
        rest.bids[:COMPARED_LEVELS] == shown.bids[:COMPARED_LEVELS]
        and rest.asks[:COMPARED_LEVELS] == shown.asks[:COMPARED_LEVELS]
    )


def _side_doubts(side: str, rest: Sequence[Level], shown: Sequence[Sequence[Level]]) -> frozenset[Doubt]:
    ever = {level.price for level in chain.from_iterable(shown)}
    always = set.intersection(*(set(levels[:STANDING_LEVELS]) for levels in shown)) if shown else set()
    missing = [Doubt(side, level.price, None) for level in rest[:COMPARED_LEVELS] if level.price not in ever]
    standing = [Doubt(side, *level) for level in always.difference(rest)]
    return frozenset(missing + standing)
