"""OKX's private endpoints that read orders and fills of spot."""

from collections.abc import Callable, Iterable, Iterator

from market.time_units import MICROSECONDS
from simulators.matching.funded_account import first_fills
from simulators.matching.order_records import RequestRejectedError, SimulatedFill, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.okx.endpoints import (
    OkxEndpoint,
    Rows,
    integer_field,
    is_spot,
    known,
    listing_field,
    needed_field,
    page_of,
)
from simulators.okx.orders import named_order
from simulators.okx.rows import bill_number, fill_row, order_row, state_of, streamed_order, type_of
from simulators.web.request_fields import Fields, Row, optional_field

_PAGED = known("instType", "instId", "after", "before", "limit")
_DATED = _PAGED | {"begin", "end"}
_ORDERS = _PAGED | {"ordType", "state"}
_FILLS = _DATED | {"ordId", "subType"}
_DAY = 86_400 * MICROSECONDS
_HISTORY, _ARCHIVE = 7 * _DAY, 90 * _DAY
_FILLS_KEPT, _FILLS_ARCHIVED = 3 * _DAY, 90 * _DAY
_UNFILLED_KEPT = 2 * 3_600 * MICROSECONDS
"""Orders that were cancelled without a fill are forgotten after that: docs-v5, Order history."""
_MOST = 100


class OkxLists:
    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._listings = exchange.listings_by_id

    def endpoints(self) -> list[OkxEndpoint]:
        paths = "/api/v5/trade/"
        ended = _ORDERS | {"begin", "end", "category"}
        return [
            OkxEndpoint("GET", f"{paths}order", self._order, known("instId", "ordId", "clOrdId"), is_of_orders=True),
            OkxEndpoint("GET", f"{paths}orders-pending", self._pending, _ORDERS),
            OkxEndpoint("GET", f"{paths}orders-history", self._ended_within(_HISTORY), ended),
            OkxEndpoint("GET", f"{paths}orders-history-archive", self._ended_within(_ARCHIVE), ended),
            OkxEndpoint("GET", f"{paths}fills", self._fills_within(_FILLS_KEPT, needs_type=False), _FILLS),
            OkxEndpoint("GET", f"{paths}fills-history", self._fills_within(_FILLS_ARCHIVED, needs_type=True), _FILLS),
        ]

    def row_of(self, order: SimulatedOrder) -> Row:
        return order_row(order, self._counted(order), self._exchange.listings[order.symbol])

    def streamed(self, order: SimulatedOrder, fill: SimulatedFill | None) -> Row:
        """Return the order with the fills that this state of it counts: all are booked before any is reported."""
        return streamed_order(order, self._counted(order), fill, self._exchange.listings[order.symbol])

    def _counted(self, order: SimulatedOrder) -> list[SimulatedFill]:
        return first_fills(self._exchange.customer.fills_of(order.order_id), order.filled)

    def _order(self, fields: Fields) -> Rows:
        order = named_order(self._exchange, fields, listing_field(fields, self._listings))
        if not self._is_kept(order):
            raise RequestRejectedError("unknown_order")
        return [self.row_of(order)]

    def _pending(self, fields: Fields) -> Rows:
        if not is_spot(fields, needs_it=False):
            return []
        return self._page(reversed(self._exchange.customer.open_orders()), fields)

    def _ended_within(self, kept: int) -> Callable[[Fields], Rows]:
        def answer(fields: Fields) -> Rows:
            is_listed = is_spot(fields, needs_it=True)
            if not is_listed or optional_field(fields, "category") not in (None, "normal"):
                return []
            oldest = self._exchange.clock.now() - kept
            is_within = _within(fields)
            ended = (
                order
                for order in self._exchange.customer.newest_orders()
                if order.state != "open" and (order.ended_at or 0) >= oldest and self._is_kept(order)
            )
            return self._page((order for order in ended if is_within(order.placed_at)), fields)

        return answer

    def _page(self, newest: Iterable[SimulatedOrder], fields: Fields) -> Rows:
        wanted, kinds, state = self._wanted(fields), _words(fields, "ordType"), optional_field(fields, "state")
        found = (
            order
            for order in newest
            if wanted in (None, order.symbol)
            and (kinds is None or type_of(order) in kinds)
            and state in (None, state_of(order))
        )
        return [self.row_of(order) for order in page_of(found, fields, lambda one: int(one.order_id), _MOST, _MOST)]

    def _fills_within(self, kept: int, *, needs_type: bool) -> Callable[[Fields], Rows]:
        def answer(fields: Fields) -> Rows:
            if not is_spot(fields, needs_it=needs_type):
                return []
            wanted, order_id, is_within = self._wanted(fields), optional_field(fields, "ordId"), _within(fields)
            kind = optional_field(fields, "subType")
            found = (
                fill
                for fill in self._newest(self._exchange.clock.now() - kept, order_id, wanted)
                if kind in (None, "1" if fill.side == "buy" else "2") and is_within(fill.filled_at)
            )
            return [self._fill(fill) for fill in page_of(found, fields, bill_number, _MOST, _MOST)]

        return answer

    def _newest(self, oldest: int, order_id: str | None, symbol: str | None) -> Iterator[SimulatedFill]:
        customer = self._exchange.customer
        if order_id is None:
            return customer.newest_fills(oldest, symbol)
        of_order = reversed(customer.fills_of(order_id))
        return (fill for fill in of_order if fill.filled_at >= oldest and symbol in (None, fill.symbol))

    def _fill(self, fill: SimulatedFill) -> Row:
        order = self._exchange.customer.order(fill.order_id)
        return fill_row(fill, order, self._exchange.listings[fill.symbol])

    def _is_kept(self, order: SimulatedOrder) -> bool:
        is_unfilled = order.state == "cancelled" and not order.filled
        return not is_unfilled or self._exchange.clock.now() - (order.ended_at or 0) <= _UNFILLED_KEPT

    def _wanted(self, fields: Fields) -> str | None:
        return listing_field(fields, self._listings).market.symbol if optional_field(fields, "instId") else None


def _within(fields: Fields) -> Callable[[int], bool]:
    """Return whether a time, microseconds, is between `begin` and `end`, milliseconds, both among them."""
    since, until = integer_field(fields, "begin"), integer_field(fields, "end")
    return lambda micros: (since is None or micros // 1_000 >= since) and (until is None or micros // 1_000 <= until)


def _words(fields: Fields, name: str) -> frozenset[str] | None:
    """Return the words with commas between them; None if there are none."""
    return frozenset(needed_field(fields, name).split(",")) if optional_field(fields, name) else None
