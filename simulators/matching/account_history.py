"""The orders and fills of one account: the newest in memory, what ended before them in a file.

Exchanges list what was traded months ago. An account that trades for weeks has hundreds of thousands of orders, which
would fill the memory, and every list that is asked for would look at all of them.
"""

from collections.abc import Iterator, Mapping
from heapq import merge
from itertools import takewhile

from simulators.matching.aged_records import AgedRecords, PlacedFill
from simulators.matching.order_records import SimulatedFill, SimulatedOrder

KEPT_ENDED = 500
"""Ended orders in memory: those of the last minutes, which are asked for all the time. Once there are a fifth more, the
oldest go into the file together."""


class AccountHistory(Mapping[str, SimulatedOrder]):
    """All orders by id, those in the file first, and their fills. An order that has ended does not change any more."""

    def __init__(self, kept: int = KEPT_ENDED) -> None:
        self._kept = kept
        self._orders: dict[str, SimulatedOrder] = {}
        self._ended: dict[str, None] = {}
        """Ids of those in memory that have ended, in the order in which they did."""
        self._by_client_id: dict[str, list[str]] = {}
        self._fills: dict[int, SimulatedFill] = {}
        """By place."""
        self._places: dict[str, int] = {}
        """Fill id → place."""
        self._places_of: dict[str, list[int]] = {}
        """Order id → the places of its fills."""
        self._booked = 0
        self._aged: AgedRecords | None = None

    def __getitem__(self, order_id: str) -> SimulatedOrder:
        order = self._orders.get(order_id)
        if order is None and self._aged is not None:
            order = self._aged.order(order_id)
        if order is None:
            raise KeyError(order_id)
        return order

    def __iter__(self) -> Iterator[str]:
        if self._aged is not None:
            yield from self._aged.order_ids()
        yield from self._orders

    def __len__(self) -> int:
        return len(self._orders) + (0 if self._aged is None else self._aged.order_count())

    @property
    def in_memory(self) -> int:
        """Return how many orders and fills are in memory."""
        return len(self._orders) + len(self._fills)

    def store(self, order: SimulatedOrder) -> None:
        """Store a new order, or the new state of one that has not ended."""
        if order.order_id not in self._orders and order.client_order_id:
            self._by_client_id.setdefault(order.client_order_id, []).append(order.order_id)
        self._orders[order.order_id] = order
        if order.state != "open":
            self._ended.setdefault(order.order_id)
            if len(self._ended) > self._kept * 6 // 5:
                self._put_away()

    def add_fill(self, fill: SimulatedFill) -> None:
        self._booked += 1
        self._fills[self._booked] = fill
        self._places[fill.fill_id] = self._booked
        self._places_of.setdefault(fill.order_id, []).append(self._booked)

    def by_client_id(self, client_order_id: str) -> list[SimulatedOrder]:
        """Return its orders, oldest first."""
        recent = [self._orders[order_id] for order_id in self._by_client_id.get(client_order_id, ())]
        if self._aged is None:
            return recent
        return sorted((*self._aged.orders_by_client_id(client_order_id), *recent), key=_number_of)

    def newest_orders(self, symbol: str | None = None, ended_after: int | None = None) -> Iterator[SimulatedOrder]:
        """Return orders one by one, newest first, of one market or of all: a caller that stops early reads no further.
        `ended_after`, microseconds: without those that ended by then."""
        newest = (
            order
            for order in reversed(self._orders.values())
            if symbol in (None, order.symbol)
            and (ended_after is None or order.ended_at is None or order.ended_at > ended_after)
        )
        if self._aged is None:
            return newest
        return merge(newest, self._aged.newest_orders(symbol, ended_after), key=_number_of, reverse=True)

    def newest_fills(self, since: int = 0, symbol: str | None = None) -> Iterator[SimulatedFill]:
        """Return fills one by one, newest first, of one market or of all, until one from before `since`,
        microseconds."""
        recent = takewhile(lambda placed: placed[1].filled_at >= since, reversed(self._fills.items()))
        newest: Iterator[PlacedFill] = (placed for placed in recent if symbol in (None, placed[1].symbol))
        if self._aged is not None:
            newest = merge(newest, self._aged.newest_fills(since, symbol), key=_place_of, reverse=True)
        return (fill for _, fill in newest)

    def oldest_fills(self) -> Iterator[SimulatedFill]:
        """Return fills one by one, in the order in which they were booked."""
        oldest: Iterator[PlacedFill] = iter(self._fills.items())
        if self._aged is not None:
            oldest = merge(self._aged.oldest_fills(), oldest, key=_place_of)
        return (fill for _, fill in oldest)

    def fill(self, fill_id: str) -> SimulatedFill | None:
        place = self._places.get(fill_id)
        if place is not None:
            return self._fills[place]
        return None if self._aged is None else self._aged.fill(fill_id)

    def fills_of(self, order_id: str) -> list[SimulatedFill]:
        """Return the order's fills, oldest first."""
        places = self._places_of.get(order_id)
        if places is not None:
            return [self._fills[place] for place in places]
        return [] if self._aged is None else self._aged.fills_of(order_id)

    def _put_away(self) -> None:
        """Move the orders that ended first into the file, with their fills."""
        if self._aged is None:
            self._aged = AgedRecords()
        first = list(self._ended)[: len(self._ended) - self._kept]
        orders = [self._orders.pop(order_id) for order_id in first]
        placed: list[PlacedFill] = []
        for order in orders:
            del self._ended[order.order_id]
            placed += [(place, self._fills.pop(place)) for place in self._places_of.pop(order.order_id, ())]
            if order.client_order_id:
                self._forget_client_id(order.client_order_id, order.order_id)
        for _, fill in placed:
            del self._places[fill.fill_id]
        self._aged.put(orders, placed)

    def _forget_client_id(self, client_order_id: str, order_id: str) -> None:
        named = self._by_client_id[client_order_id]
        named.remove(order_id)
        if not named:
            del self._by_client_id[client_order_id]


def _number_of(order: SimulatedOrder) -> int:
    return order.number


def _place_of(placed: PlacedFill) -> int:
    return placed[0]
