"""The test account of one simulated exchange: what it owns, its orders and its fills."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import accumulate

from market.instruments.orders import changes_of
from market.money import EXACT, ZERO, total
from simulators.matching.account_history import AccountHistory
from simulators.matching.listings import Listing
from simulators.matching.order_records import PreventedTrade, RequestRejectedError, SimulatedFill, SimulatedOrder
from simulators.matching.transfer_records import SimulatedDeposit, SimulatedWithdrawal


class FundedAccount:
    """Balances are always opening + fills − fees − withdrawals + deposits, one by one."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self.balances: dict[str, Decimal] = {}
        """Total per currency."""
        self.orders = AccountHistory()
        """All its orders; `orders.get(id)` finds one."""
        self.prevented: list[PreventedTrade] = []
        self.withdrawals: dict[str, SimulatedWithdrawal] = {}
        """By id, oldest first."""
        self.deposits: dict[str, SimulatedDeposit] = {}
        """By the network's id, oldest first."""
        self._listings = listings
        self.opening: dict[str, Decimal] = {}
        """What the account was funded with, `opened_at`, microseconds."""
        self.opened_at = 0
        self._open: set[str] = set()
        self._waiting: set[str] = set()

    @property
    def fills(self) -> list[SimulatedFill]:
        """Return all its fills, oldest first."""
        return list(self.orders.oldest_fills())

    def open(self, balances: Mapping[str, Decimal], at: int) -> None:
        """Pay in, at the beginning: `at` in microseconds."""
        for currency, amount in balances.items():
            self.balances[currency] = self.balances.get(currency, ZERO) + amount
        self.opening.update(balances)
        self.opened_at = at

    def held(self) -> dict[str, Decimal]:
        """Return per currency what open orders would need to fill whole at their limits."""
        held = dict.fromkeys(self.balances, ZERO)
        for order_id in self._open:
            currency, amount = self.hold_of(self.orders[order_id])
            held[currency] += amount
        return held

    def hold_of(self, order: SimulatedOrder) -> tuple[str, Decimal]:
        """Return currency and amount that an open order holds: of a stop order at the market, at the price it waits
        for."""
        listing, price = self._listings[order.symbol], order.price
        if order.is_waiting and order.trigger is not None:
            price = price or order.trigger.price
        return listing.hold(order.side, listing.ticks(price or ZERO), listing.lots(order.remaining) if price else 0)

    def available(self, currency: str) -> Decimal:
        return self.balances.get(currency, ZERO) - self.held().get(currency, ZERO)

    def order(self, order_id: str) -> SimulatedOrder:
        """Return the order. Raises RequestRejectedError if there is none."""
        order = self.orders.get(order_id)
        if order is None:
            raise RequestRejectedError("unknown_order", order_id)
        return order

    def latest_by_client_id(self, client_order_id: str) -> SimulatedOrder:
        """Return the order. Raises RequestRejectedError if there is none."""
        orders = self.orders_by_client_id(client_order_id)
        if not orders:
            raise RequestRejectedError("unknown_order", client_order_id)
        return orders[-1]

    def orders_by_client_id(self, client_order_id: str) -> list[SimulatedOrder]:
        return self.orders.by_client_id(client_order_id)

    def newest_orders(self, symbol: str | None = None, ended_after: int | None = None) -> Iterator[SimulatedOrder]:
        """Return orders one by one, newest first, of one market or of all: a caller that stops early reads no further.
        `ended_after`, microseconds: without those that ended by then."""
        return self.orders.newest_orders(symbol, ended_after)

    def newest_fills(self, since: int = 0, symbol: str | None = None) -> Iterator[SimulatedFill]:
        """Return fills one by one, newest first, of one market or of all, until one from before `since`,
        microseconds."""
        return self.orders.newest_fills(since, symbol)

    def known_fills(self, fill_ids: Iterable[str]) -> list[SimulatedFill]:
        """Return the fills with these ids, oldest first."""
        found = (self.orders.fill(fill_id) for fill_id in set(fill_ids))
        return sorted((fill for fill in found if fill is not None), key=lambda fill: fill.number)

    def open_orders(self) -> list[SimulatedOrder]:
        return sorted((self.orders[order_id] for order_id in self._open), key=lambda order: order.number)

    def waiting_orders(self, symbol: str) -> list[SimulatedOrder]:
        """Return stop orders that wait to be triggered, oldest first."""
        waiting = (self.orders[order_id] for order_id in self._waiting)
        return sorted((order for order in waiting if order.symbol == symbol), key=lambda order: order.number)

    def fills_of(self, order_id: str) -> Sequence[SimulatedFill]:
        """Return the order's fills, oldest first."""
        return self.orders.fills_of(order_id)

    def store(self, order: SimulatedOrder) -> None:
        """Store a new order, or the new state of an older one."""
        self.orders.store(order)
        for ids, belongs in ((self._open, order.state == "open"), (self._waiting, order.is_waiting)):
            if belongs:
                ids.add(order.order_id)
            else:
                ids.discard(order.order_id)

    def add_fill(self, fill: SimulatedFill) -> None:
        """Add a fill and change balances by it; its order is stored separately."""
        self.orders.add_fill(fill)
        market = self._listings[fill.symbol].market
        for currency, change in changes_of(fill, market.base, market.quote_currency):
            self.balances[currency] = self.balances.get(currency, ZERO) + change

    def store_withdrawal(self, withdrawal: SimulatedWithdrawal) -> None:
        """Store a new one, which leaves the account, or its new state: one that failed comes back."""
        known = self.withdrawals.get(withdrawal.withdrawal_id)
        self.withdrawals[withdrawal.withdrawal_id] = withdrawal
        was_gone, is_gone = known is not None and known.state != "failed", withdrawal.state != "failed"
        if was_gone != is_gone:
            sign = -1 if is_gone else 1
            self.balances[withdrawal.currency] = self.balances.get(withdrawal.currency, ZERO) + sign * withdrawal.amount

    def store_deposit(self, deposit: SimulatedDeposit) -> None:
        self.deposits[deposit.network_id] = deposit
        self.balances[deposit.currency] = self.balances.get(deposit.currency, ZERO) + deposit.amount

    def update_order(self, fill: SimulatedFill) -> SimulatedOrder:
        """Return the new state of the fill's order."""
        order = self.orders[fill.order_id]
        filled = order.filled + fill.amount
        if filled + order.prevented == order.amount:
            order = replace(order, filled=filled, state="done", ended_at=fill.filled_at)
        else:
            order = replace(order, filled=filled)
        self.store(order)
        return order


def executed_cost(fills: Iterable[SimulatedFill]) -> Decimal:
    return total(fill.cost for fill in fills)


def charged_fee(fills: Iterable[SimulatedFill]) -> Decimal:
    return total(fill.fee for fill in fills)


def first_fills(fills: Sequence[SimulatedFill], filled: Decimal) -> list[SimulatedFill]:
    """Return an order's first fills, as many as add up to `filled`."""
    sums = accumulate((fill.amount for fill in fills), EXACT.add, initial=ZERO)
    return [fill for fill, before in zip(fills, sums, strict=False) if before < filled]


def average_price(fills: Sequence[SimulatedFill]) -> Decimal:
    """Return the average weighted by amount, not cut as costs are; 0 if there are none."""
    amount = total(fill.amount for fill in fills)
    return total(fill.price * fill.amount for fill in fills) / amount if amount else ZERO
