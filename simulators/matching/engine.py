"""Pure matching by price, then time, in whole ticks and lots. Knows no money, no time and no I/O."""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from market.instruments.order_matching import is_within_limit
from market.instruments.orders import Side, opposite
from simulators.matching.order_records import SelfTrade


@dataclass(slots=True)
class BookOrder:
    """An order as the book sees it; `lots` is what remains of it."""

    order_id: str
    owner: str
    side: Side
    ticks: int
    lots: int
    self_trade: SelfTrade = "taker"
    """What ends if it meets an order of its owner."""
    prevented: "list[Prevented]" = field(default_factory=list)
    """What did not trade because of that, when the order was submitted."""


@dataclass(frozen=True, slots=True)
class Prevented:
    """An order met one of its owner: so many lots of each ended."""

    maker: BookOrder
    taker_lots: int
    maker_lots: int


@dataclass(frozen=True, slots=True)
class Match:
    """A resting order met at its own price."""

    maker: BookOrder
    lots: int

    @property
    def ticks(self) -> int:
        return self.maker.ticks


class _BookSide:
    """Price levels of one side, best first; each a queue in order of arrival."""

    def __init__(self, side: Side) -> None:
        self._sign = 1 if side == "sell" else -1
        self._ranks: list[int] = []
        self._queues: dict[int, dict[str, BookOrder]] = {}
        self._lots: dict[int, int] = {}

    def best(self) -> int | None:
        return self._ranks[0] * self._sign if self._ranks else None

    def add(self, order: BookOrder) -> None:
        queue = self._queues.get(order.ticks)
        if queue is None:
            queue = self._queues[order.ticks] = {}
            self._lots[order.ticks] = 0
            insort(self._ranks, order.ticks * self._sign)
        queue[order.order_id] = order
        self._lots[order.ticks] += order.lots

    def reduce(self, order: BookOrder, lots: int) -> None:
        """Take `lots` off a resting order; it leaves the book when none remain."""
        order.lots -= lots
        self._lots[order.ticks] -= lots
        if order.lots == 0:
            queue = self._queues[order.ticks]
            del queue[order.order_id]
            if not queue:
                del self._queues[order.ticks], self._lots[order.ticks]
                self._ranks.remove(order.ticks * self._sign)

    def lots_at(self, ticks: int) -> int:
        return self._lots.get(ticks, 0)

    def queue(self) -> Iterator[BookOrder]:
        """Return resting orders by price, then time."""
        for rank in self._ranks:
            yield from self._queues[rank * self._sign].values()

    def levels(self, count: int) -> list[tuple[int, int]]:
        return [(rank * self._sign, self._lots[rank * self._sign]) for rank in self._ranks[:count]]


class MatchingBook:
    """The order book of one market. It is never crossed: what crosses, matches."""

    def __init__(self) -> None:
        self._sides: dict[Side, _BookSide] = {"buy": _BookSide("buy"), "sell": _BookSide("sell")}
        self._orders: dict[str, BookOrder] = {}
        self._touched: set[tuple[Side, int]] = set()

    def submit(self, order: BookOrder, rests: bool) -> list[Match]:
        """Match `order`, then let its remainder rest or drop it; `order.lots` is what remains either way.

        There are no trades with oneself: `order.prevented` is what ended instead.
        """
        order.prevented, matches = [], list[Match]()
        for maker, lots in self._met(order):
            if maker.owner == order.owner:
                self._prevent(order, maker)
                continue
            self._reduce(maker, lots)
            order.lots -= lots
            matches.append(Match(maker, lots))
        if rests and order.lots and not self.would_match(order.side, order.ticks):
            self._sides[order.side].add(order)
            self._orders[order.order_id] = order
            self._touched.add((order.side, order.ticks))
        return matches

    def fillable_lots(self, order: BookOrder) -> int:
        """Return the lots that `submit` would match at once, at most the order's own."""
        return sum(lots for maker, lots in self._met(order) if maker.owner != order.owner)

    def would_match(self, side: Side, ticks: int) -> bool:
        """Return whether an order on `side` with that limit meets the best order of the other side."""
        best = self.best(opposite(side))
        return best is not None and is_within_limit(side, ticks, best)

    def cancel(self, order_id: str) -> int:
        """Cancel the order. Returns the lots taken off the book; 0 if no such order rests."""
        order = self._orders.get(order_id)
        if order is None:
            return 0
        lots = order.lots
        self._reduce(order, lots)
        return lots

    def rests(self, order_id: str) -> bool:
        return order_id in self._orders

    def best(self, side: Side) -> int | None:
        """Return ticks of the best bid ("buy") or ask ("sell")."""
        return self._sides[side].best()

    def levels(self, side: Side, count: int) -> list[tuple[int, int]]:
        """Return (ticks, lots), best first."""
        return self._sides[side].levels(count)

    def orders(self, side: Side) -> Iterator[BookOrder]:
        """Yield resting orders by price, then time."""
        return self._sides[side].queue()

    def lots_at(self, side: Side, ticks: int) -> int:
        return self._sides[side].lots_at(ticks)

    def drain_changes(self) -> list[tuple[Side, int, int]]:
        """Return levels touched since the last call as they stand now: (side, ticks, lots), lots 0 if one is gone."""
        changes = [(side, ticks, self._sides[side].lots_at(ticks)) for side, ticks in sorted(self._touched)]
        self._touched.clear()
        return changes

    def _met(self, order: BookOrder) -> list[tuple[BookOrder, int]]:
        """Return the resting orders that it meets, best first, and the lots that each takes off it."""
        if not self.would_match(order.side, order.ticks):
            return []
        met, left = list[tuple[BookOrder, int]](), order.lots
        for maker in self._sides[opposite(order.side)].queue():
            if not left or not is_within_limit(order.side, order.ticks, maker.ticks):
                break
            lots = min(left, maker.lots)
            if maker.owner == order.owner:
                lots = {"taker": left, "both": left, "maker": 0}.get(order.self_trade, lots)
            met.append((maker, lots))
            left -= lots
        return met

    def _prevent(self, order: BookOrder, maker: BookOrder) -> None:
        smaller = min(order.lots, maker.lots)
        taken, given = {
            "taker": (order.lots, 0),
            "maker": (0, maker.lots),
            "both": (order.lots, maker.lots),
        }.get(order.self_trade, (smaller, smaller))
        order.lots -= taken
        if given:
            self._reduce(maker, given)
        order.prevented.append(Prevented(maker, taken, given))

    def _reduce(self, order: BookOrder, lots: int) -> None:
        self._sides[order.side].reduce(order, lots)
        self._touched.add((order.side, order.ticks))
        if order.lots == 0:
            del self._orders[order.order_id]
