"""A book as the readers of one stream know it: the whole, and what has changed since the last message."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from market.instruments.orders import Side
from simulators.matching.engine import MatchingBook
from simulators.matching.listings import Listing

ViewedLevels = Mapping[Side, Sequence[tuple[str, str]]]
"""By the side whose orders they are: price and amount as texts, the amount 0 if the level is gone."""
_SIDES: tuple[Side, Side] = ("buy", "sell")
Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class BookView:
    """The best `depth` levels of a book as the readers of one stream know them, and the id of their last message."""

    listing: Listing
    depth: int
    last_id: int
    _known: dict[Side, list[tuple[int, int]]] = field(default_factory=dict)
    """Ticks and lots."""

    def snapshot(self, book: MatchingBook) -> ViewedLevels:
        """Return the view as its readers know it; if there are none, as it stands."""
        return {side: self._texts(self._known.setdefault(side, book.levels(side, self.depth))) for side in _SIDES}

    def changes(self, book: MatchingBook) -> ViewedLevels | None:
        """Return what has changed since the last message, None if nothing has. A level that is gone, or out of the
        depth, has no amount."""
        changed: dict[Side, list[tuple[int, int]]] = {}
        for side in _SIDES:
            before, after = dict(self._known[side]), book.levels(side, self.depth)
            standing = dict(after)
            gone = [(ticks, 0) for ticks in before if ticks not in standing]
            changed[side] = gone + [(ticks, lots) for ticks, lots in after if before.get(ticks) != lots]
            self._known[side] = after
        return {side: self._texts(levels) for side, levels in changed.items()} if any(changed.values()) else None

    def _texts(self, levels: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
        listing = self.listing
        return [(listing.price_text(ticks), listing.amount_text(lots) if lots else "0") for ticks, lots in levels]


class BookViews(Generic[Key]):
    """The views of one exchange's streams that have readers."""

    def __init__(self) -> None:
        self.by_key: dict[Key, BookView] = {}

    def changes(self, key: Key, book: MatchingBook, *, is_read: bool) -> tuple[BookView, ViewedLevels] | None:
        """Return a view with what has changed, None if nothing has. One that nobody reads any more is forgotten: its
        next reader begins with the book as it stands then."""
        view = self.by_key.get(key)
        if view is None:
            return None
        if not is_read:
            del self.by_key[key]
            return None
        changes = view.changes(book)
        return None if changes is None else (view, changes)
