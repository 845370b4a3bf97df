"""Whether a book that the exchange shows by REST is one that its stream has shown."""

from collections import deque
from collections.abc import Sequence
from itertools import chain

from market.quotes import Level
from pricefeeds.books import BookTop

COMPARED_LEVELS = 5
"""Of each side. Fewer than a book has, so that a level which just left the ten best is none that is missing."""


class ShownBooks:
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


def agrees(rest: BookTop, shown: Sequence[BookTop]) -> bool:
    """Whether a book by REST may be a moment of what the stream showed meanwhile.

    On each side no price by REST that the stream never showed, and no level that the stream showed all the time and
    REST does not show just so. A busy exchange sends changes in batches, so that an amount in between, and a book as a
    whole, may never have been shown although nothing is wrong.
    """
    if not (shown and rest.bids and rest.asks):
        return False
    return _side_agrees(rest.bids, [top.bids for top in shown]) and _side_agrees(rest.asks, [top.asks for top in shown])


def is_same(rest: BookTop, shown: BookTop | None) -> bool:
    """Whether the best levels of both are equal, amounts and all."""
    if shown is None or not (rest.bids and rest.asks):
        return False
    return (
        rest.bids[:COMPARED_LEVELS] == shown.bids[:COMPARED_LEVELS]
        and rest.asks[:COMPARED_LEVELS] == shown.asks[:COMPARED_LEVELS]
    )


def _side_agrees(rest: Sequence[Level], shown: Sequence[Sequence[Level]]) -> bool:
    ever = {level.price for level in chain.from_iterable(shown)}
    always = set.intersection(*(set(side[:COMPARED_LEVELS]) for side in shown))
    return ever.issuperset(level.price for level in rest[:COMPARED_LEVELS]) and always.issubset(rest)
