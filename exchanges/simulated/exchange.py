"""One simulated exchange: its books, the test account's balances, orders and fills. No I/O but the journal."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol

from exchanges.simulated.engine import Book, BookOrder, Match
from exchanges.simulated.journal import Entry
from exchanges.simulated.listings import Listing
from exchanges.simulated.records import (
    CustomerFill,
    CustomerOrder,
    Liquidity,
    OrderRequest,
    RequestRefusedError,
)
from market.clock import Clock
from market.money import ZERO, floor_to_step, total
from market.orders import Side

CUSTOMER = "customer"
MAKER = "maker"
CROWD = "crowd"
FEES = "fees"

# Beyond any price that the books can hold, so that a market order crosses all of it.
_ANY_PRICE = 10**15


class EntryLog(Protocol):
    def entries(self) -> Sequence[Entry]: ...

    def write(self, entry: Entry) -> None: ...


@dataclass(frozen=True, slots=True)
class Names:
    """How the exchange names what it numbers: (number, microseconds) → its own id.

    `client_ids_reusable`: a client order id may come again once its order has ended.
    """

    order: Callable[[int, int], str]
    fill: Callable[[int, int], str]
    client_ids_reusable: bool = False


class SimulatedExchange:
    """Balances of the test account are always opening + fills − fees; market maker and crowd are unlimited."""

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
        self.books = {symbol: Book() for symbol in self.listings}
        self.orders: dict[str, CustomerOrder] = {}
        self.fills: list[CustomerFill] = []
        self.clock = clock
        self._names = names
        self._journal = journal
        self._fills_of: dict[str, list[CustomerFill]] = {}
        self._by_client_id: dict[str, list[str]] = {}
        self._open: set[str] = set()
        self._totals: dict[tuple[str, str], Decimal] = {}
        self._maker_orders: dict[str, dict[tuple[Side, int], BookOrder]] = {symbol: {} for symbol in self.listings}
        self._numbers = 0
        self._recover(opening)

    # -- what the customer may ask

    def balances(self) -> dict[str, Decimal]:
        """Total per currency."""
        return {currency: amount for (owner, currency), amount in self._totals.items() if owner == CUSTOMER}

    def held(self) -> dict[str, Decimal]:
        """Per currency, what open orders would need to fill whole at their limits."""
        held = dict.fromkeys(self.balances(), ZERO)
        for order_id in self._open:
            currency, amount = self._hold_of(self.orders[order_id])
            held[currency] = held.get(currency, ZERO) + amount
        return held

    def available(self, currency: str) -> Decimal:
        return self._totals.get((CUSTOMER, currency), ZERO) - self.held().get(currency, ZERO)

    def order(self, order_id: str) -> CustomerOrder:
        """Raises RequestRefusedError where there is none."""
        order = self.orders.get(order_id)
        if order is None:
            raise RequestRefusedError("unknown_order", order_id)
        return order

    def orders_by_client_id(self, client_order_id: str) -> list[CustomerOrder]:
        return [self.orders[order_id] for order_id in self._by_client_id.get(client_order_id, ())]

    def open_orders(self) -> list[CustomerOrder]:
        return sorted((self.orders[order_id] for order_id in self._open), key=lambda order: order.number)

    def fills_of(self, order_id: str) -> list[CustomerFill]:
        return list(self._fills_of.get(order_id, ()))

    def place(self, request: OrderRequest) -> CustomerOrder:
        """Match, book and journal the order. Raises RequestRefusedError: then there is no order."""
        listing = self._listing(request.symbol)
        ticks, lots = self._checked(listing, request)
        self._check_funds(listing, request.side, ticks, lots)
        now = self.clock.now()
        self._numbers += 1
        order = CustomerOrder(
            order_id=self._names.order(self._numbers, now),
            number=self._numbers,
            client_order_id=request.client_order_id,
            symbol=request.symbol,
            side=request.side,
            amount=request.amount,
            price=request.price,
            immediate=request.immediate or request.price is None,
            placed_at=now,
        )
        self._keep(order)
        book_order = BookOrder(order.order_id, CUSTOMER, order.side, ticks, lots)
        matches = self.books[order.symbol].submit(book_order, rests=not order.immediate)
        fills = self._settle(listing, book_order, matches, now)
        ended = not self.books[order.symbol].rests(order.order_id)
        if ended and self.orders[order.order_id].state == "open":
            self._keep(replace(self.orders[order.order_id], state="cancelled", ended_at=now))
        self._journal.write(Entry(orders=(self.orders[order.order_id],), fills=tuple(fills)))
        return self.orders[order.order_id]

    def cancel(self, order_id: str) -> CustomerOrder:
        """Raises RequestRefusedError where there is no such open order."""
        order = self.order(order_id)
        if order.state != "open":
            raise RequestRefusedError("order_ended", order_id)
        self.books[order.symbol].cancel(order_id)
        self._keep(replace(order, state="cancelled", ended_at=self.clock.now()))
        self._journal.write(Entry(orders=(self.orders[order_id],)))
        return self.orders[order_id]

    # -- what the market around it does

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

    def take(self, symbol: str, side: Side, lots: int) -> None:
        """A market order of somebody else."""
        ticks = _ANY_PRICE if side == "buy" else 0
        self._submit_house(symbol, BookOrder("", CROWD, side, ticks, lots), rests=False)

    def all_totals(self) -> dict[tuple[str, str], Decimal]:
        """(owner, currency) → amount of everybody, fee income included; sums to what was put in."""
        return dict(self._totals)

    # -- inside

    def _recover(self, opening: dict[str, Decimal]) -> None:
        entries = self._journal.entries()
        for currency, amount in (entries[0].opening if entries else opening).items():
            self._totals[(CUSTOMER, currency)] = amount
        if not entries:
            self._journal.write(Entry(opening=opening))
        for entry in entries:
            for order in entry.orders:
                self._keep(order)
            for fill in entry.fills:
                self._keep_fill(fill)
                self._move(fill, CUSTOMER)
        self._numbers = max((record.number for record in (*self.orders.values(), *self.fills)), default=0)
        for order in self.open_orders():
            self._rest_again(order, self.listings[order.symbol])

    def _rest_again(self, order: CustomerOrder, listing: Listing) -> None:
        ticks = _units(order.price or ZERO, listing.market.tick_size)
        lots = _units(order.remaining, listing.market.lot_step)
        self.books[order.symbol].submit(BookOrder(order.order_id, CUSTOMER, order.side, ticks, lots), rests=True)

    def _listing(self, symbol: str) -> Listing:
        listing = self.listings.get(symbol)
        if listing is None:
            raise RequestRefusedError("unknown_market", symbol)
        return listing

    def _checked(self, listing: Listing, request: OrderRequest) -> tuple[int, int]:
        market = listing.market
        if request.amount <= 0:
            raise RequestRefusedError("amount_invalid", str(request.amount))
        if request.price is not None and request.price <= 0:
            raise RequestRefusedError("price_invalid", str(request.price))
        if request.amount < market.minimum_amount:
            raise RequestRefusedError("amount_too_small", str(market.minimum_amount))
        if request.amount % market.lot_step or (request.price is not None and request.price % market.tick_size):
            raise RequestRefusedError("too_precise", f"{request.amount} at {request.price}")
        if request.price is not None and request.price * request.amount < market.minimum_notional:
            raise RequestRefusedError("amount_too_small", str(market.minimum_notional))
        used = self.orders_by_client_id(request.client_order_id) if request.client_order_id else []
        if any(not self._names.client_ids_reusable or order.state == "open" for order in used):
            raise RequestRefusedError("client_id_used", request.client_order_id or "")
        lots = _units(request.amount, market.lot_step)
        if request.price is not None:
            return _units(request.price, market.tick_size), lots
        return (_ANY_PRICE if request.side == "buy" else 0), lots

    def _check_funds(self, listing: Listing, side: Side, ticks: int, lots: int) -> None:
        if ticks == _ANY_PRICE:
            ticks = self._worst_ask(listing, lots)
        currency, needed = listing.hold(side, ticks, lots)
        if self.available(currency) < needed:
            raise RequestRefusedError("insufficient_funds", currency)

    def _worst_ask(self, listing: Listing, lots: int) -> int:
        worst = 0
        for ticks, level_lots in self.books[listing.market.symbol].levels("sell", 1_000):
            worst = ticks
            lots -= level_lots
            if lots <= 0:
                break
        return worst

    def _submit_house(self, symbol: str, order: BookOrder, rests: bool) -> BookOrder:
        self._numbers += 1
        order.order_id = f"{order.owner}-{self._numbers}"
        matches = self.books[symbol].submit(order, rests)
        fills = self._settle(self.listings[symbol], order, matches, self.clock.now())
        if fills:
            changed = tuple(self.orders[order_id] for order_id in dict.fromkeys(fill.order_id for fill in fills))
            self._journal.write(Entry(orders=changed, fills=tuple(fills)))
        return order

    def _settle(self, listing: Listing, taker: BookOrder, matches: list[Match], now: int) -> list[CustomerFill]:
        """Move money and amounts between both sides of each match; the customer's fills among them."""
        fills = []
        for match in matches:
            for order, liquidity in ((taker, "taker"), (match.maker, "maker")):
                fill = self._fill(listing, order, match, "taker" if liquidity == "taker" else "maker", now)
                self._move(fill, order.owner)
                if order.owner == CUSTOMER:
                    self._keep_fill(fill)
                    self._advance(order.order_id, fill)
                    fills.append(fill)
        return fills

    def _fill(self, listing: Listing, order: BookOrder, match: Match, liquidity: Liquidity, now: int) -> CustomerFill:
        cost = listing.cost(match.ticks, match.lots)
        number, fill_id, fee = 0, "", ZERO
        if order.owner == CUSTOMER:
            self._numbers += 1
            number, fill_id = self._numbers, self._names.fill(self._numbers, now)
            fee = listing.fee(cost, match.lots)
        return CustomerFill(
            fill_id=fill_id,
            number=number,
            order_id=order.order_id,
            symbol=listing.market.symbol,
            side=order.side,
            price=listing.price(match.ticks),
            amount=listing.amount(match.lots),
            cost=cost,
            fee=fee,
            fee_currency=listing.fee_currency,
            liquidity=liquidity,
            filled_at=now,
        )

    def _move(self, fill: CustomerFill, owner: str) -> None:
        market = self.listings[fill.symbol].market
        sign = 1 if fill.side == "buy" else -1
        for who, currency, change in (
            (owner, market.base, sign * fill.amount),
            (owner, market.quote_currency, -sign * fill.cost),
            (owner, fill.fee_currency, -fill.fee),
            (FEES, fill.fee_currency, fill.fee),
        ):
            self._totals[(who, currency)] = self._totals.get((who, currency), ZERO) + change

    def _advance(self, order_id: str, fill: CustomerFill) -> None:
        order = self.orders[order_id]
        filled = order.filled + fill.amount
        done = filled == order.amount
        self._keep(
            replace(
                order, filled=filled, state="done" if done else order.state, ended_at=fill.filled_at if done else None
            )
        )

    def _keep(self, order: CustomerOrder) -> None:
        if order.order_id not in self.orders and order.client_order_id:
            self._by_client_id.setdefault(order.client_order_id, []).append(order.order_id)
        self.orders[order.order_id] = order
        if order.state == "open":
            self._open.add(order.order_id)
        else:
            self._open.discard(order.order_id)

    def _keep_fill(self, fill: CustomerFill) -> None:
        self.fills.append(fill)
        self._fills_of.setdefault(fill.order_id, []).append(fill)

    def _hold_of(self, order: CustomerOrder) -> tuple[str, Decimal]:
        listing = self.listings[order.symbol]
        if order.price is None:
            return listing.market.base, ZERO
        ticks = _units(order.price, listing.market.tick_size)
        return listing.hold(order.side, ticks, _units(order.remaining, listing.market.lot_step))


def _units(number: Decimal, step: Decimal) -> int:
    return int(floor_to_step(number, step) / step)


def executed_cost(fills: Iterable[CustomerFill]) -> Decimal:
    return total(fill.cost for fill in fills)


def charged_fee(fills: Iterable[CustomerFill]) -> Decimal:
    return total(fill.fee for fill in fills)
