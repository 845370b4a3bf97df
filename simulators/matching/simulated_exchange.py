"""One account of a simulated exchange: its orders, its journal and its events. No I/O but the journal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Protocol

from market.money import ZERO
from simulators.catalogue import terms_of
from simulators.matching.engine import BookOrder, Prevented
from simulators.matching.exchange_journal import Entry, EntryLog
from simulators.matching.funded_account import FundedAccount
from simulators.matching.funding import Funding
from simulators.matching.order_admission import check_client_id, check_size, funds_needed, ticks_of
from simulators.matching.order_records import (
    OrderRequest,
    PreventedTrade,
    RejectedOrder,
    RequestRejectedError,
    SimulatedAccountEvent,
    SimulatedFill,
    SimulatedOrder,
    Trigger,
)
from simulators.matching.venue import Venue

CUSTOMER = "customer"
"""The owner of the first account, which every exchange has."""


class OrderFaultPort(Protocol):
    """Injected faults of the customer's orders."""

    def admit(self, request: OrderRequest) -> None:
        """Raise if the order must not be accepted."""
        ...

    def lots_at_once(self, order: SimulatedOrder, lots: int) -> int:
        """Return how many lots may fill now; if fewer than `lots`, the rest is stuck until `resume`."""
        ...

    def take(self, order: SimulatedOrder) -> None:
        """Note that the order was accepted and journalled."""
        ...

    def report_count(self, event: SimulatedAccountEvent) -> int:
        """Return how often listeners get the event."""
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
        self.pays_in_points = False
        """Whether fees are said to be taken in the exchange's own coin, if it has one."""
        terms = terms_of(self.name)
        self.volume_30d = terms.volume
        self.tier = terms.tier_at(self.volume_30d)
        self._owner = owner
        self._journal = journal
        self.funding = Funding(self.customer, journal, self.clock, venue.next_number)
        self._listeners: list[Callable[[SimulatedAccountEvent], None]] = []
        self._events: list[SimulatedAccountEvent] = []
        venue.join(owner, self)
        self._recover(opening)

    @property
    def balances(self) -> Mapping[str, Decimal]:
        """Return the total per currency."""
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
        if order.is_waiting:
            self._commit(Entry(orders=(order,)))
        else:
            at_once = lots if self.order_faults is None else self.order_faults.lots_at_once(order, lots)
            self._match(order, self._as_taker(order, ticks, at_once), at_once < lots)
        if self.order_faults is not None:
            self.order_faults.take(order)
        self.venue.fire_stops(order.symbol)
        return self.customer.order(order.order_id)

    def checked(self, request: OrderRequest) -> SimulatedOrder:
        """Return the order as it would be placed. Raises RequestRejectedError if it would be rejected."""
        self._check(request)
        return self._numbered(request)

    def replace(self, order_id: str, request: OrderRequest) -> SimulatedOrder:
        """Cancel an open order and place another, for which what the first one held is free.

        Raises RequestRejectedError: then nothing has changed.
        """
        self._check(request, released=self._open_order(order_id))
        self.cancel(order_id)
        return self.place(request)

    def amend(self, order_id: str, amount: Decimal | None = None, price: Decimal | None = None) -> SimulatedOrder:
        """Change an open limit order's whole amount, its price, or both; it keeps its id, and loses its place.

        Raises RequestRejectedError: then nothing has changed.
        """
        order = self._open_order(order_id)
        changed = replace(order, amount=amount or order.amount, price=price or order.price)
        check_size(self.listings[order.symbol], _as_request(changed))
        if order.price is None or changed.remaining <= 0:
            raise RequestRejectedError("amount_invalid", str(amount))
        resting = self._resting(changed)
        self._check_funds(changed, resting.ticks, resting.lots, released=order)
        self.books[order.symbol].cancel(order_id)
        self.customer.store(changed)
        self._events.append(SimulatedAccountEvent("amended", changed))
        if changed.is_waiting:
            self._commit(Entry(orders=(changed,)))
            return changed
        self._match(changed, resting, is_stuck=False)
        self.venue.fire_stops(order.symbol)
        return self.customer.order(order_id)

    def is_reached(self, symbol: str, trigger: Trigger) -> bool:
        """Return whether the last trade would trigger a stop order at once."""
        newest = self.tape.newest(symbol, 1)
        return bool(newest) and trigger.is_reached(newest[0].price)

    def expire_orders(self) -> None:
        """End the open orders whose time is over."""
        now = self.clock.now()
        for order in self.customer.open_orders():
            if order.expires_at is not None and order.expires_at <= now:
                self.cancel(order.order_id)

    def would_take(self, request: OrderRequest) -> bool:
        """Return whether some of a limit order would fill at once; False for one at the market, and for one
        that waits."""
        if request.price is None or request.trigger is not None:
            return False
        ticks = self.listings[request.symbol].ticks(request.price)
        return self.books[request.symbol].would_match(request.side, ticks)

    def resume(self, order_id: str) -> None:
        """Continue a stuck order: its remainder rests, or is cancelled if it may not rest."""
        order = self.customer.order(order_id)
        if order.state == "open" and order.immediate:
            self._end(order)
        elif order.state == "open" and not self.books[order.symbol].rests(order_id):
            self._match(order, self._resting(order), is_stuck=False)

    def cancel(self, order_id: str) -> SimulatedOrder:
        """Cancel the order. Raises RequestRejectedError if there is no such open order."""
        order = self._open_order(order_id)
        self.books[order.symbol].cancel(order_id)
        return self._end(order)

    def book(self, fill: SimulatedFill) -> None:
        """Book a match of one of the account's orders."""
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

    def due_stop(self, symbol: str) -> SimulatedOrder | None:
        """Return the oldest stop order whose price the last trade has reached."""
        waiting = self.customer.waiting_orders(symbol)
        return next((row for row in waiting if row.trigger is not None and self.is_reached(symbol, row.trigger)), None)

    def trigger(self, order: SimulatedOrder) -> None:
        """Send on a stop order that is due; it ends if the account has too little for it by now."""
        order = replace(order, triggered_at=self.clock.now())
        self.customer.store(order)
        self._events.append(SimulatedAccountEvent("triggered", order))
        resting = self._resting(order)
        try:
            if order.price is None:
                # a limit order's funds are held already
                self._check_funds(order, resting.ticks, resting.lots)
        except RequestRejectedError:
            self._end(order)
        else:
            self._match(order, resting, is_stuck=False)

    def _recover(self, opening: dict[str, Decimal]) -> None:
        opened_at: int | None = None
        for entry in self._journal.entries():
            opened_at = entry.at if opened_at is None else opened_at
            self._read(entry, opened_at)
        # what has been listed since the journal began is paid in too
        missing = {name: amount for name, amount in opening.items() if name not in self.customer.opening}
        self.customer.open(missing, self.clock.now() if opened_at is None else opened_at)
        if missing:
            self._journal.write(Entry(opening=missing))
        for order in self.customer.open_orders():
            self.venue.steps.see(order.symbol)
            if order.is_waiting:
                continue
            book, resting = self.books[order.symbol], self._resting(order)
            # an order that was stuck when the exchange stopped may cross others, of any account
            if order.immediate or book.would_match(order.side, resting.ticks):
                self._end(order)
            else:
                book.submit(resting, rests=True)

    def _read(self, entry: Entry, opened_at: int) -> None:
        if entry.opening:
            self.customer.open(entry.opening, opened_at)
        for order in entry.orders:
            self.customer.store(order)
        for fill in entry.fills:
            self.customer.add_fill(fill)
        self.customer.prevented.extend(entry.prevented)
        for withdrawal in entry.withdrawals:
            self.customer.store_withdrawal(withdrawal)
        for deposit in entry.deposits:
            self.customer.store_deposit(deposit)
        for rows in (entry.orders, entry.fills, entry.prevented, entry.withdrawals, entry.deposits):
            for row in rows:
                self.venue.skip_to(row.number)

    def _resting(self, order: SimulatedOrder) -> BookOrder:
        listing = self.listings[order.symbol]
        ticks = ticks_of(listing, order.side, order.price)
        return self._as_taker(order, ticks, listing.lots(order.remaining))

    def _as_taker(self, order: SimulatedOrder, ticks: int, lots: int) -> BookOrder:
        return BookOrder(order.order_id, self._owner, order.side, ticks, lots, order.self_trade)

    def _open_order(self, order_id: str) -> SimulatedOrder:
        """Return the order. Raises RequestRejectedError if there is no such open order."""
        order = self.customer.order(order_id)
        if order.state != "open":
            raise RequestRejectedError("order_ended", order_id)
        return order

    def _match(self, order: SimulatedOrder, book_order: BookOrder, is_stuck: bool) -> SimulatedOrder:
        """Return the order after its matches; `is_stuck`: its remainder neither rests nor is cancelled."""
        book = self.books[order.symbol]
        is_killed = order.whole and book.fillable_lots(book_order) < book_order.lots
        matches = [] if is_killed else book.submit(book_order, rests=not order.immediate and not is_stuck)
        fills = self.venue.settle(order.symbol, book_order, matches)
        prevented = [self._prevent(order, row) for row in book_order.prevented]
        others = tuple(self.customer.order(row.maker_id) for row in prevented)
        order = self.customer.order(order.order_id)
        if order.state == "open" and not is_stuck and not book.rests(order.order_id):
            order = self._ended(order, order.triggered_at or order.placed_at)
        own_fills = tuple(fills.pop(self._owner, ()))
        self._commit(Entry(orders=(order, *others), fills=own_fills, prevented=tuple(prevented)))
        self.venue.commit(fills)
        return order

    def _prevent(self, taker: SimulatedOrder, met: Prevented) -> PreventedTrade:
        """End what two of the account's orders would have traded with each other."""
        listing, now = self.listings[taker.symbol], self.clock.now()
        trade = PreventedTrade(
            number=self.venue.next_number(),
            symbol=taker.symbol,
            taker_id=taker.order_id,
            maker_id=met.maker.order_id,
            price=listing.price(met.maker.ticks),
            taker_amount=listing.amount(met.taker_lots),
            maker_amount=listing.amount(met.maker_lots),
            self_trade=taker.self_trade,
            at=now,
        )
        self.customer.prevented.append(trade)
        for order_id, amount in ((trade.taker_id, trade.taker_amount), (trade.maker_id, trade.maker_amount)):
            if not amount:
                continue
            order = self.customer.order(order_id)
            order = replace(order, prevented=order.prevented + amount)
            has_ended = not order.remaining
            self.customer.store(order)
            self._events.append(SimulatedAccountEvent("prevented", order, prevented=trade))
            if has_ended:
                self._ended(order, now)
        return trade

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
        """Return its price and amount in ticks and lots. Raises RequestRejectedError."""
        ticks, lots = self._check(request)
        if self.order_faults is not None:
            self.order_faults.admit(request)
        return ticks, lots

    def _check(self, request: OrderRequest, released: SimulatedOrder | None = None) -> tuple[int, int]:
        """Return its price and amount in ticks and lots; `released`: an order whose funds are free for it. Raises
        RequestRejectedError."""
        listing = self.listings.get(request.symbol)
        if listing is None:
            raise RequestRejectedError("unknown_market", request.symbol)
        if listing.status != "online":
            raise RequestRejectedError("market_closed", listing.status)
        check_size(listing, request)
        used = self.customer.orders_by_client_id(request.client_order_id or "")
        check_client_id(request.client_order_id, used, self.venue.names.client_ids_reusable)
        ticks, lots = ticks_of(listing, request.side, request.price), listing.lots(request.amount)
        at_most = (
            ticks if request.trigger is None or request.price is not None else listing.ticks(request.trigger.price)
        )
        self._check_funds(request, at_most, lots, released)
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
            trigger=request.trigger,
            user_reference=request.user_reference,
            expires_at=request.expires_at,
            self_trade=request.self_trade,
        )

    def _check_funds(
        self, wanted: OrderRequest | SimulatedOrder, ticks: int, lots: int, released: SimulatedOrder | None = None
    ) -> None:
        """Raise RequestRejectedError if the account has too little for the order."""
        listing, book = self.listings[wanted.symbol], self.books[wanted.symbol]
        currency, needed = funds_needed(listing, wanted.side, ticks, lots, book)
        available = self.customer.available(currency)
        if released is not None:
            freed, held = self.customer.hold_of(released)
            available += held if freed == currency else ZERO
        if available < needed:
            raise RequestRejectedError("insufficient_funds", currency)

    def _commit(self, entry: Entry) -> None:
        """Journal a step, then publish it."""
        self._journal.write(entry)
        events, self._events = self._events, []
        for event in events:
            times = 1 if self.order_faults is None else self.order_faults.report_count(event)
            for listener in self._listeners * times:
                listener(event)


def _as_request(order: SimulatedOrder) -> OrderRequest:
    return OrderRequest(order.symbol, order.side, order.amount, order.price, order.immediate, trigger=order.trigger)
