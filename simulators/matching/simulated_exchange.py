"""One account of a simulated exchange: its orders, its journal and its events. No I/O but the journal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Protocol

from market.instruments.orders import Side
from market.money import ZERO
from simulators.matching.exchange_journal import Entry, EntryLog
from simulators.matching.funded_account import FundedAccount
from simulators.matching.listings import Listing
from simulators.matching.matching_engine import BookOrder
from simulators.matching.order_admission import check_client_id, check_size, funds_needed, units_of
from simulators.matching.order_records import (
    OrderRequest,
    RejectedOrder,
    RequestRejectedError,
    SimulatedAccountEvent,
    SimulatedFill,
    SimulatedOrder,
)
from simulators.matching.venue import Venue
from simulators.matching.volume_tiers import assumed_volume, tier_at

CUSTOMER = "customer"
"""The owner of the first account, which every exchange has."""


class OrderFaultPort(Protocol):
    """Injected faults of the customer's orders."""

    def admit(self, request: OrderRequest) -> None:
        """Raises where the order must not be accepted."""
        ...

    def lots_at_once(self, order: SimulatedOrder, lots: int) -> int:
        """How many lots may fill now; where fewer than `lots`, the rest is stuck until `resume`."""
        ...

    def take(self, order: SimulatedOrder) -> None:
        """The order was accepted and journalled."""
        ...

    def report_count(self, event: SimulatedAccountEvent) -> int:
        """How often listeners get the event."""
        ...


class SimulatedExchange:
    """An exchange as one account sees it; the rest of the exchange is the `venue`."""

    def __init__(self, venue: Venue, opening: dict[str, Decimal], journal: EntryLog, owner: str = CUSTOMER) -> None:
        self.venue = venue
        self.name = venue.name
        self.listings = venue.listings
        self.listings_by_id = venue.listings_by_id
        self.books = venue.books
        self.tape = venue.tape
        self.clock = venue.clock
        self.customer = FundedAccount(self.listings)
        self.order_faults: OrderFaultPort | None = None
        self.volume_30d = assumed_volume(self.name)
        self.tier = tier_at(self.name, self.volume_30d)
        self._owner = owner
        self._journal = journal
        self._listeners: list[Callable[[SimulatedAccountEvent], None]] = []
        self._events: list[SimulatedAccountEvent] = []
        venue.join(owner, self)
        self._recover(opening)

    @property
    def balances(self) -> Mapping[str, Decimal]:
        """Total per currency."""
        return self.customer.balances

    def listen(self, listener: Callable[[SimulatedAccountEvent], None]) -> None:
        """Call `listener` at each step of the test account's orders, in order, once the step is journalled."""
        self._listeners.append(listener)

    def place(self, request: OrderRequest) -> SimulatedOrder:
        """Match, book and journal the customer's order. Raises RequestRejectedError: then there is no order."""
        try:
            ticks, lots = self._admitted(request)
        except RequestRejectedError as rejection:
            rejected = RejectedOrder(request, rejection.reason, self.clock.now())
            self._journal.write(Entry(rejected=(rejected,)))
            raise
        order = self._numbered(request)
        self.customer.store(order)
        self._events.append(SimulatedAccountEvent("opened", order))
        at_once = lots if self.order_faults is None else self.order_faults.lots_at_once(order, lots)
        order = self._match(order, BookOrder(order.order_id, self._owner, order.side, ticks, at_once), at_once < lots)
        if self.order_faults is not None:
            self.order_faults.take(order)
        return order

    def would_take(self, request: OrderRequest) -> bool:
        """Whether some of a limit order would fill at once; False for an order at the market."""
        if request.price is None:
            return False
        ticks = self.listings[request.symbol].ticks(request.price)
        return self.books[request.symbol].would_match(request.side, ticks)

    def resume(self, order_id: str) -> None:
        """Continue a stuck order: its remainder rests, or is cancelled where it may not rest."""
        order = self.customer.order(order_id)
        if order.state == "open" and order.immediate:
            self._end(order)
        elif order.state == "open":
            self._match(order, self._resting(order), is_stuck=False)

    def cancel(self, order_id: str) -> SimulatedOrder:
        """Raises RequestRejectedError where there is no such open order."""
        order = self.customer.order(order_id)
        if order.state != "open":
            raise RequestRejectedError("order_ended", order_id)
        self.books[order.symbol].cancel(order_id)
        return self._end(order)

    def book(self, fill: SimulatedFill) -> None:
        """A match of one of the account's orders."""
        self.customer.add_fill(fill)
        order = self.customer.update_order(fill)
        self._events.append(SimulatedAccountEvent("filled", order, fill))
        if order.state == "done":
            self._events.append(SimulatedAccountEvent("ended", order))

    def commit_fills(self, fills: Sequence[SimulatedFill]) -> None:
        """Journal fills of resting orders, then publish them."""
        changed = dict.fromkeys(fill.order_id for fill in fills)
        orders = tuple(self.customer.order(order_id) for order_id in changed)
        self._commit(Entry(orders=orders, fills=tuple(fills)))

    def _recover(self, opening: dict[str, Decimal]) -> None:
        entries = self._journal.entries()
        self.customer.open(entries[0].opening if entries else opening)
        if not entries:
            self._journal.write(Entry(opening=opening))
        for entry in entries:
            for order in entry.orders:
                self.customer.store(order)
                self.venue.skip_to(order.number)
            for fill in entry.fills:
                self.customer.add_fill(fill)
                self.venue.skip_to(fill.number)
        for order in self.customer.open_orders():
            book, resting = self.books[order.symbol], self._resting(order)
            # an order that was stuck when the exchange stopped may cross others, of any account
            if order.immediate or book.would_match(order.side, resting.ticks):
                self._end(order)
            else:
                book.submit(resting, rests=True)

    def _resting(self, order: SimulatedOrder) -> BookOrder:
        listing = self.listings[order.symbol]
        ticks, lots = listing.ticks(order.price or ZERO), listing.lots(order.remaining)
        return BookOrder(order.order_id, self._owner, order.side, ticks, lots)

    def _match(self, order: SimulatedOrder, book_order: BookOrder, is_stuck: bool) -> SimulatedOrder:
        """The order after its matches; `is_stuck`: its remainder neither rests nor is cancelled."""
        book = self.books[order.symbol]
        is_killed = order.whole and book.fillable(book_order) < book_order.lots
        matches = [] if is_killed else book.submit(book_order, rests=not order.immediate and not is_stuck)
        fills = self.venue.settle(order.symbol, book_order, matches)
        order = self.customer.order(order.order_id)
        if order.state == "open" and not is_stuck and not book.rests(order.order_id):
            order = self._ended(order, order.placed_at)
        self._commit(Entry(orders=(order,), fills=tuple(fills.pop(self._owner, ()))))
        self.venue.commit(fills)
        return order

    def _end(self, order: SimulatedOrder) -> SimulatedOrder:
        order = self._ended(order, self.clock.now())
        self._commit(Entry(orders=(order,)))
        return order

    def _ended(self, order: SimulatedOrder, when: int) -> SimulatedOrder:
        order = replace(order, state="cancelled", ended_at=when)
        self.customer.store(order)
        self._events.append(SimulatedAccountEvent("ended", order))
        return order

    def _admitted(self, request: OrderRequest) -> tuple[int, int]:
        """Its price and amount in ticks and lots. Raises RequestRejectedError."""
        listing = self.listings.get(request.symbol)
        if listing is None:
            raise RequestRejectedError("unknown_market", request.symbol)
        check_size(listing, request)
        used = self.customer.orders_by_client_id(request.client_order_id or "")
        check_client_id(request.client_order_id, used, self.venue.names.client_ids_reusable)
        ticks, lots = units_of(listing, request)
        self._check_funds(listing, request.side, ticks, lots)
        if self.order_faults is not None:
            self.order_faults.admit(request)
        return ticks, lots

    def _numbered(self, request: OrderRequest) -> SimulatedOrder:
        now, number = self.clock.now(), self.venue.next_number()
        return SimulatedOrder(
            order_id=self.venue.names.order(number, now),
            number=number,
            client_order_id=request.client_order_id,
            symbol=request.symbol,
            side=request.side,
            amount=request.amount,
            price=request.price,
            immediate=request.immediate or request.whole or request.price is None,
            placed_at=now,
            whole=request.whole,
        )

    def _check_funds(self, listing: Listing, side: Side, ticks: int, lots: int) -> None:
        currency, needed = funds_needed(listing, side, ticks, lots, self.books[listing.market.symbol])
        if self.customer.available(currency) < needed:
            raise RequestRejectedError("insufficient_funds", currency)

    def _commit(self, entry: Entry) -> None:
        """Journal a step, then publish it."""
        self._journal.write(entry)
        events, self._events = self._events, []
        for event in events:
            times = 1 if self.order_faults is None else self.order_faults.report_count(event)
            for listener in self._listeners * times:
                listener(event)
