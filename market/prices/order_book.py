"""An order book that is kept up to date level by level and always knows its ten best."""

from bisect import bisect_left, insort
from collections.abc import Iterable
from decimal import Decimal

from market.prices.book_top import BookTop
from market.prices.quotes import MAX_LEVELS, Level


class BookSide:
    """One side. The worst level stands first in the list: most changes are near the best, where moving is cheap."""

    __slots__ = ("_best", "_edge", "_is_bids", "_is_stale", "_levels", "_ranks")

    def __init__(self, *, is_bids: bool) -> None:
        self._is_bids = is_bids
        self._levels: dict[Decimal, Level] = {}
        self._ranks: list[Decimal] = []
        """The higher the better: the price of a bid, the negative price of an ask."""
        self._best: tuple[Level, ...] = ()
        self._edge: Decimal | None = None
        """The lowest rank within `_best` if that is full: what happens below it is not seen."""
        self._is_stale = False

    def __len__(self) -> int:
        return len(self._ranks)

    def restart(self, levels: Iterable[Level]) -> None:
        """Take these levels and no others; those without amount are none, and of two at one price the later counts."""
        latest = {self._rank(level.price): level for level in levels}
        self._levels = {rank: level for rank, level in latest.items() if level.amount}
        self._ranks = sorted(self._levels)
        self._is_stale = True

    def put(self, level: Level) -> None:
        """Set a level's amount as it stands now; 0 removes it, whether it was known or not."""
        rank = self._rank(level.price)
        if not level.amount:
            if self._levels.pop(rank, None) is None:
                return
            del self._ranks[bisect_left(self._ranks, rank)]
        else:
            if rank not in self._levels:
                insort(self._ranks, rank)
            self._levels[rank] = level
        if self._edge is None or rank >= self._edge:
            self._is_stale = True

    def cut(self, depth: int) -> None:
        """Forget the worst levels beyond the best `depth`, which is at least ten."""
        surplus = len(self._ranks) - depth
        if surplus > 0:
            for rank in self._ranks[:surplus]:
                del self._levels[rank]
            del self._ranks[:surplus]

    def best(self) -> tuple[Level, ...]:
        """Up to ten levels, best first; the same tuple as long as none of them changed."""
        if self._is_stale:
            ranks = self._ranks[: -MAX_LEVELS - 1 : -1]
            self._best = tuple(map(self._levels.__getitem__, ranks))
            self._edge = ranks[-1] if len(ranks) == MAX_LEVELS else None
            self._is_stale = False
        return self._best

    def _rank(self, price: Decimal) -> Decimal:
        # A minus sign would round to the precision of the context.
        return price if self._is_bids else price.copy_negate()


class OrderBook:
    """Both sides of one symbol."""

    __slots__ = ("asks", "bids")

    def __init__(self) -> None:
        self.bids = BookSide(is_bids=True)
        self.asks = BookSide(is_bids=False)

    def restart(self, bids: Iterable[Level], asks: Iterable[Level]) -> None:
        self.bids.restart(bids)
        self.asks.restart(asks)

    def apply(self, bids: Iterable[Level], asks: Iterable[Level]) -> None:
        for level in bids:
            self.bids.put(level)
        for level in asks:
            self.asks.put(level)

    def cut(self, depth: int) -> None:
        self.bids.cut(depth)
        self.asks.cut(depth)

    def top(self, exchange_time: int | None = None) -> BookTop:
        return BookTop(self.bids.best(), self.asks.best(), exchange_time)


def top_of(bids: Iterable[Level], asks: Iterable[Level], exchange_time: int | None = None) -> BookTop:
    """Return the best levels of a whole book that is not kept."""
    book = OrderBook()
    book.restart(bids, asks)
    return book.top(exchange_time)
