"""One simulated exchange: books, the test account, and the market around it. No I/O but the journal."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol

from market.instruments.orders import Side, changes_of
from market.money import ZERO
from session.clock import Clock
from simulators.matching.exchange_journal import Entry, EntryLog
from simulators.matching.funded_account import FundedAccount
from simulators.matching.listings import Listing
from simulators.matching.matching_engine import BookOrder, Match, MatchingBook
from simulators.matching.order_admission import ANY_PRICE, check_client_id, check_size, funds_needed, ticks_of
from simulators.matching.order_records import (
    Liquidity,
    OrderRequest,
    PublicTrade,
    RejectedOrder,
    RequestRejectedError,
    SimulatedAccountEvent,
    SimulatedFill,
    SimulatedOrder,
    Trigger,
)
from simulators.matching.trade_tape import TradeTape
from simulators.matching.volume_tiers import assumed_volume, tier_at

CUSTOMER = "customer"
MAKER = "maker"
CROWD = "crowd"
FEES = "fees"
_NUMBER_MICROSECONDS = 100_000
"""Numbers start at ten per second since 1970: more than an exchange uses while it runs."""


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


@dataclass(frozen=True, slots=True)
class Names:
    """The exchange's ids: (number, microseconds) → id.

    `client_ids_reusable`: a client order id may come again once its order has ended.
    """

    order: Callable[[int, int], str]
    fill: Callable[[int, int], str]
    client_ids_reusable: bool = False


class SimulatedExchange:
    """Market maker and crowd are unlimited and pay no fees; the customer is the one test account."""

    def __init__(
        self,
        name: str,
        listings: Sequence[Listing],
        opening: dict[str, Decimal],
        names: Names,
        clock: Clock,
        journal: EntryLog,
    ) -> None:
        self.name = name
        self.listings = {listing.market.symbol: listing for listing in listings}
        self.listings_by_id = {listing.market_id: listing for listing in listings}
        """By the exchange's own name of the market."""
        self.books = {symbol: MatchingBook() for symbol in self.listings}
        self.customer = FundedAccount(self.listings)
        self.clock = clock
        self.order_faults: OrderFaultPort | None = None
        self.tape = TradeTape(self.listings)
        self.volume_30d = assumed_volume(name)
        self.tier = tier_at(name, self.volume_30d)
        self._names = names
        self._journal = journal
        self._house: dict[tuple[str, str], Decimal] = {}
        self._maker_orders: dict[str, dict[tuple[Side, int], BookOrder]] = {symbol: {} for symbol in self.listings}
        self._house_orders = 0
        self._listeners: list[Callable[[SimulatedAccountEvent], None]] = []
        self._events: list[SimulatedAccountEvent] = []
        # public trades are not journalled: their numbers must not come again after a restart
        self._numbers = clock.now() // _NUMBER_MICROSECONDS
        self._recover(opening)

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
            self._match(order, BookOrder(order.order_id, CUSTOMER, order.side, ticks, at_once), at_once < lots)
        if self.order_faults is not None:
            self.order_faults.take(order)
        self._fire_stops(order.symbol)
        return self.customer.order(order.order_id)

    def checked(self, request: OrderRequest) -> SimulatedOrder:
        """The order as it would be placed. Raises RequestRejectedError where it would be rejected."""
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
        self._fire_stops(order.symbol)
        return self.customer.order(order_id)

    def is_reached(self, symbol: str, trigger: Trigger) -> bool:
        """Whether the last trade would trigger a stop order at once."""
        newest = self.tape.newest(symbol, 1)
        return bool(newest) and trigger.is_reached(newest[0].price)

    def expire_orders(self) -> None:
        """End the open orders whose time is over."""
        now = self.clock.now()
        for order in self.customer.open_orders():
            if order.expires_at is not None and order.expires_at <= now:
                self.cancel(order.order_id)

    def would_take(self, request: OrderRequest) -> bool:
        """Whether some of a limit order would fill at once; False for one at the market, and for one that waits."""
        if request.price is None or request.trigger is not None:
            return False
        ticks = self.listings[request.symbol].ticks(request.price)
        return self.books[request.symbol].would_match(request.side, ticks)

    def resume(self, order_id: str) -> None:
        """Continue a stuck order: its remainder rests, or is cancelled where it may not rest."""
        order = self.customer.order(order_id)
        if order.state == "open" and order.immediate:
            self._end(order)
        elif order.state == "open" and not self.books[order.symbol].rests(order_id):
            self._match(order, self._resting(order), is_stuck=False)

    def cancel(self, order_id: str) -> SimulatedOrder:
        """Raises RequestRejectedError where there is no such open order."""
        order = self._open_order(order_id)
        self.books[order.symbol].cancel(order_id)
        return self._end(order)

    def quote(self, symbol: str, bids: Iterable[tuple[int, int]], asks: Iterable[tuple[int, int]]) -> None:
        """Replace the market maker's orders; levels that stay as they are keep their place in the queue."""
        book, current = self.books[symbol], self._maker_orders[symbol]
        wanted: dict[tuple[Side, int], int] = {("buy", ticks): lots for ticks, lots in bids}
        wanted.update({("sell", ticks): lots for ticks, lots in asks})
        for key, standing in list(current.items()):
            if wanted.get(key) != standing.lots:
                book.cancel(standing.order_id)
                del current[key]
        for (side, ticks), lots in wanted.items():
            if (side, ticks) not in current:
                current[(side, ticks)] = self._submit_house(symbol, BookOrder("", MAKER, side, ticks, lots), rests=True)
        self._fire_stops(symbol)

    def take(self, symbol: str, side: Side, lots: int) -> None:
        """A market order of another participant."""
        ticks = ANY_PRICE if side == "buy" else 0
        self._submit_house(symbol, BookOrder("", CROWD, side, ticks, lots), rests=False)
        self._fire_stops(symbol)

    def total_of(self, currency: str) -> Decimal:
        """The total of the customer, the house and the fees charged, which never changes."""
        house = sum((amount for (_, owned), amount in self._house.items() if owned == currency), ZERO)
        return house + self.customer.balances.get(currency, ZERO)

    def _recover(self, opening: dict[str, Decimal]) -> None:
        entries = self._journal.entries()
        opened = {name: amount for entry in entries for name, amount in entry.opening.items()}
        # what has been listed since the journal began is paid in too
        missing = {name: amount for name, amount in opening.items() if name not in opened}
        self.customer.open(opened | missing, entries[0].at if entries else self.clock.now())
        if missing:
            self._journal.write(Entry(opening=missing))
        for entry in entries:
            for order in entry.orders:
                self.customer.store(order)
                self._numbers = max(self._numbers, order.number)
            for fill in entry.fills:
                self.customer.add_fill(fill)
                self._numbers = max(self._numbers, fill.number)
        for order in [order for order in self.customer.open_orders() if not order.is_waiting]:
            book = self.books[order.symbol]
            if not order.immediate:
                book.submit(self._resting(order), rests=True)
            if not book.rests(order.order_id):
                # an order that was stuck when the exchange stopped may cross the account's own
                self._end(order)

    def _resting(self, order: SimulatedOrder) -> BookOrder:
        listing = self.listings[order.symbol]
        ticks = ticks_of(listing, order.side, order.price)
        return BookOrder(order.order_id, CUSTOMER, order.side, ticks, listing.lots(order.remaining))

    def _open_order(self, order_id: str) -> SimulatedOrder:
        """Raises RequestRejectedError where there is no such open order."""
        order = self.customer.order(order_id)
        if order.state != "open":
            raise RequestRejectedError("order_ended", order_id)
        return order

    def _fire_stops(self, symbol: str) -> None:
        """Send on the stop orders whose price was reached, one by one: the trades of one may trigger the next."""
        while True:
            waiting = self.customer.waiting_orders(symbol)
            due = [row for row in waiting if row.trigger is not None and self.is_reached(symbol, row.trigger)]
            if not due:
                return
            order = replace(due[0], triggered_at=self.clock.now())
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

    def _match(self, order: SimulatedOrder, book_order: BookOrder, is_stuck: bool) -> SimulatedOrder:
        """The order after its matches; `is_stuck`: its remainder neither rests nor is cancelled."""
        book = self.books[order.symbol]
        is_killed = order.whole and book.fillable(book_order) < book_order.lots
        matches = [] if is_killed else book.submit(book_order, rests=not order.immediate and not is_stuck)
        fills = self._settle(self.listings[order.symbol], book_order, matches)
        order = self.customer.order(order.order_id)
        if order.state == "open" and not is_stuck and not book.rests(order.order_id):
            order = self._ended(order, order.triggered_at or order.placed_at)
        self._commit(Entry(orders=(order,), fills=tuple(fills)))
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
        ticks, lots = self._check(request)
        if self.order_faults is not None:
            self.order_faults.admit(request)
        return ticks, lots

    def _check(self, request: OrderRequest, released: SimulatedOrder | None = None) -> tuple[int, int]:
        """Its price and amount in ticks and lots; `released`: an order whose funds are free for it.

        Raises RequestRejectedError.
        """
        listing = self.listings.get(request.symbol)
        if listing is None:
            raise RequestRejectedError("unknown_market", request.symbol)
        check_size(listing, request)
        used = self.customer.orders_by_client_id(request.client_order_id or "")
        check_client_id(request.client_order_id, used, self._names.client_ids_reusable)
        ticks, lots = ticks_of(listing, request.side, request.price), listing.lots(request.amount)
        at_most = (
            ticks if request.trigger is None or request.price is not None else listing.ticks(request.trigger.price)
        )
        self._check_funds(request, at_most, lots, released)
        return ticks, lots

    def _numbered(self, request: OrderRequest) -> SimulatedOrder:
        now = self.clock.now()
        self._numbers += 1
        return SimulatedOrder(
            order_id=self._names.order(self._numbers, now),
            number=self._numbers,
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
        )

    def _check_funds(
        self, wanted: OrderRequest | SimulatedOrder, ticks: int, lots: int, released: SimulatedOrder | None = None
    ) -> None:
        """Raises RequestRejectedError where the account has too little for the order."""
        listing, book = self.listings[wanted.symbol], self.books[wanted.symbol]
        currency, needed = funds_needed(listing, wanted.side, ticks, lots, book)
        available = self.customer.available(currency)
        if released is not None:
            freed, held = self.customer.hold_of(released)
            available += held if freed == currency else ZERO
        if available < needed:
            raise RequestRejectedError("insufficient_funds", currency)

    def _submit_house(self, symbol: str, order: BookOrder, rests: bool) -> BookOrder:
        self._house_orders += 1
        order.order_id = f"{order.owner}-{self._house_orders}"
        fills = self._settle(self.listings[symbol], order, self.books[symbol].submit(order, rests))
        if fills:
            changed = dict.fromkeys(fill.order_id for fill in fills)
            orders = tuple(self.customer.order(order_id) for order_id in changed)
            self._commit(Entry(orders=orders, fills=tuple(fills)))
        return order

    def _commit(self, entry: Entry) -> None:
        """Journal a step, then publish it."""
        self._journal.write(entry)
        events, self._events = self._events, []
        for event in events:
            times = 1 if self.order_faults is None else self.order_faults.report_count(event)
            for listener in self._listeners * times:
                listener(event)

    def _settle(self, listing: Listing, taker: BookOrder, matches: list[Match]) -> list[SimulatedFill]:
        """Move money and amounts between both sides of each match; the customer's fills among them."""
        fills = []
        for match in matches:
            trade = self._traded(listing, taker, match)
            for order in (taker, match.maker):
                fill = self._fill(listing, order, match, trade)
                if order.owner == CUSTOMER:
                    self._book(fill)
                    fills.append(fill)
                else:
                    for currency, change in changes_of(fill, listing.market.base, listing.market.quote_currency):
                        self._earn(order.owner, currency, change)
        return fills

    def _traded(self, listing: Listing, taker: BookOrder, match: Match) -> PublicTrade:
        self._numbers += 1
        price, amount = listing.price(match.ticks), listing.amount(match.lots)
        trade = PublicTrade(self._numbers, listing.market.symbol, taker.side, price, amount, self.clock.now())
        self.tape.write(trade)
        return trade

    def _book(self, fill: SimulatedFill) -> None:
        self.customer.add_fill(fill)
        order = self.customer.update_order(fill)
        self._earn(FEES, fill.fee_currency, fill.fee)
        self._events.append(SimulatedAccountEvent("filled", order, fill))
        if order.state == "done":
            self._events.append(SimulatedAccountEvent("ended", order))

    def _fill(self, listing: Listing, order: BookOrder, match: Match, trade: PublicTrade) -> SimulatedFill:
        """One side of a match; of the customer's the fee is taken. It has the number of the public trade."""
        cost = listing.cost(match.ticks, match.lots)
        liquidity: Liquidity = "maker" if order is match.maker else "taker"
        is_customers = order.owner == CUSTOMER
        fee_currency, fee = listing.fee(order.side, cost, match.lots, liquidity)
        return SimulatedFill(
            fill_id=self._names.fill(trade.number, trade.traded_at) if is_customers else "",
            number=trade.number,
            order_id=order.order_id,
            symbol=listing.market.symbol,
            side=order.side,
            price=trade.price,
            amount=trade.amount,
            cost=cost,
            fee=fee if is_customers else ZERO,
            fee_currency=fee_currency,
            liquidity=liquidity,
            filled_at=trade.traded_at,
        )

    def _earn(self, owner: str, currency: str, change: Decimal) -> None:
        self._house[(owner, currency)] = self._house.get((owner, currency), ZERO) + change


def _as_request(order: SimulatedOrder) -> OrderRequest:
    return OrderRequest(order.symbol, order.side, order.amount, order.price, order.immediate, trigger=order.trigger)
