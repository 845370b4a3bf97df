"""Binance's depth stream followed by its own rules: the REST snapshot first, then each difference without a gap.

The rules are those of Binance's "How to manage a local order book correctly", for spot by `U` and `u`, for futures by
`pu` as well. A gap makes the book unknown until the next snapshot.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook
from tick_sets.mapped.books import BEFORE_SNAPSHOT, SEQUENCE_GAP, levels_of_pairs

OUTDATED = "outdated"
"""Why a message gives no new book: the snapshot already includes it."""

MOST_EARLY = 10_000
"""Differences kept for a later snapshot: many times what arrives while REST answers."""


class DepthBook:
    """One symbol's book; messages are given in the order in which they were received."""

    def __init__(self) -> None:
        self._book = OrderBook()
        self._early: deque[Mapping[str, Any]] = deque(maxlen=MOST_EARLY)
        """Differences that came before the snapshot, and may be older than it."""
        self._last_id: int | None = None
        self._is_first = False
        """Nothing has come since the snapshot, so the next difference may overlap with it."""

    @property
    def is_known(self) -> bool:
        return self._last_id is not None

    @property
    def last_id(self) -> int:
        """Return the book's update id, 0 if the book is unknown."""
        return self._last_id or 0

    def top(self) -> BookTop:
        return self._book.top()

    def restart(self, snapshot: Mapping[str, Any]) -> str | None:
        """Start again from a REST answer. Returns why the book is still unknown, or None. Raises as `apply` does."""
        bids, asks = levels_of_pairs(snapshot["bids"]), levels_of_pairs(snapshot["asks"])
        self._last_id, self._is_first = int(snapshot["lastUpdateId"]), True
        self._book.restart(bids, asks)
        early = list(self._early)
        self._early.clear()
        for difference in early:
            self.apply(difference)
        return None if self.is_known else SEQUENCE_GAP

    def apply(self, difference: Mapping[str, Any]) -> str | None:
        """Return why the difference changed nothing, or None. Raises ValueError, KeyError or TypeError if it cannot be
        read."""
        bids, asks = levels_of_pairs(difference["b"]), levels_of_pairs(difference["a"])
        first, last = int(difference["U"]), int(difference["u"])
        if self._last_id is None:
            self._early.append(difference)
            return BEFORE_SNAPSHOT
        is_futures = "pu" in difference
        if last < self._last_id or (last == self._last_id and not is_futures):
            return OUTDATED
        if not self._follows(first, int(difference["pu"]) if is_futures else None):
            self._last_id = None
            self._early.append(difference)
            return SEQUENCE_GAP
        self._book.apply(bids, asks)
        self._last_id, self._is_first = last, False
        return None

    def _follows(self, first: int, previous: int | None) -> bool:
        """Return whether no difference is missing; `previous`: the id before it by its own words (None for spot)."""
        if self._last_id is None:
            return False
        if previous is None:
            return first <= self._last_id + 1 if self._is_first else first == self._last_id + 1
        return first <= self._last_id if self._is_first else previous == self._last_id
