"""bitFlyer's private calls: balances, orders, executions and the commission. No order has a client's own id."""

from collections.abc import Iterable

from simulators.bitflyer.public import BitflyerProducts, page_of
from simulators.bitflyer.rows import (
    LIFETIME_MINUTES,
    balance_row,
    deposit_row,
    order_id,
    order_row,
    own_execution_row,
    state_of,
)
from simulators.matching.listings import Listing
from simulators.matching.order_records import OrderRequest, RequestRejectedError, SimulatedFill, SimulatedOrder
from simulators.web.exchange_gateway import Call, Fields, count_field, decimal_field, known, side_field, text_field
from simulators.web.json_digits import plain

_STATES = ("ACTIVE", "COMPLETED", "CANCELED", "EXPIRED", "REJECTED")
_LIFETIMES = ("GTC", "IOC", "FOK")
_IDS = ("child_order_id", "child_order_acceptance_id")
_PAGED = known("count", "before", "after")
_PAGES = ("product_code", *_PAGED)
_MONEY = "JPY"


class BitflyerAccount:
    def __init__(self, products: BitflyerProducts) -> None:
        self._products = products
        self._exchange = products.exchange
        self._customer = products.exchange.customer

    def reads(self) -> dict[str, Call]:
        """Return the GET calls, by path below /v1/me/."""
        return {
            "getpermissions": Call(lambda _fields: self._permissions()),
            "getbalance": Call(self._balance),
            "gettradingcommission": Call(self._commission, known("product_code")),
            "getcoinins": Call(self._coin_deposits, _PAGED),
            "getdeposits": Call(self._yen_deposits, _PAGED),
            # nothing can be withdrawn
            "getcoinouts": Call(lambda _fields: [], _PAGED | {"message_id"}),
            "getwithdrawals": Call(lambda _fields: [], _PAGED | {"message_id"}),
            "getchildorders": Call(self._child_orders, known(*_PAGES, *_IDS, "child_order_state")),
            "getexecutions": Call(self._executions, known(*_PAGES, *_IDS)),
        }

    def changes(self) -> dict[str, Call]:
        """Return the POST calls, by path below /v1/me/; an answer of None has no body."""
        order = ("product_code", "child_order_type", "side", "price", "size", "minute_to_expire", "time_in_force")
        return {
            "sendchildorder": Call(self._place, known(*order)),
            "cancelchildorder": Call(self._cancel, known("product_code", *_IDS)),
            "cancelallchildorders": Call(self._cancel_all, known("product_code")),
        }

    def _permissions(self) -> object:
        moving = ("withdraw",) if self._exchange.funding.may_withdraw else ()
        return [f"/v1/me/{name}" for name in (*self.reads(), *self.changes(), *moving)]

    def _balance(self, _fields: Fields) -> object:
        held = self._customer.held()
        return [balance_row(name, owned, held[name]) for name, owned in self._customer.balances.items()]

    def _coin_deposits(self, fields: Fields) -> object:
        """Return the deposits: what the account was funded with."""
        return self._deposits(fields, is_money=False)

    def _yen_deposits(self, fields: Fields) -> object:
        return self._deposits(fields, is_money=True)

    def _deposits(self, fields: Fields, *, is_money: bool) -> object:
        rows = [
            (number, deposit_row(number, name, amount, self._customer.opened_at))
            for number, (name, amount) in enumerate(self._customer.opening.items(), 1)
            if (name == _MONEY) == is_money
        ]
        return page_of(reversed(rows), fields)

    def _commission(self, fields: Fields) -> object:
        text_field(fields, "product_code")
        return {"commission_rate": plain(self._products.one(fields).taker_rate)}

    def _child_orders(self, fields: Fields) -> object:
        listing, state = self._products.one(fields), fields.get("child_order_state")
        if state is not None and state not in _STATES:
            raise RequestRejectedError("invalid_request", "child_order_state")
        found = (
            (order.number, order)
            for order in self._candidates(fields, listing, state)
            if order.symbol == listing.market.symbol and state in (None, state_of(order))
        )
        return [order_row(order, self._customer.fills_of(order.order_id), listing) for order in page_of(found, fields)]

    def _candidates(self, fields: Fields, listing: Listing, state: object) -> Iterable[SimulatedOrder]:
        """Return orders, newest first: all that can be meant and as few others as the account's own order allows."""
        if any(fields.get(name) for name in _IDS):
            order = self._named(fields)
            return () if order is None else (order,)
        if state == "ACTIVE":
            return reversed(self._customer.open_orders())
        return self._customer.newest_orders(listing.market.symbol)

    def _executions(self, fields: Fields) -> object:
        listing = self._products.one(fields)
        fills: Iterable[SimulatedFill] = self._customer.newest_fills(symbol=listing.market.symbol)
        if any(fields.get(name) for name in _IDS):
            order = self._named(fields)
            fills = () if order is None else reversed(self._customer.fills_of(order.order_id))
        found = ((int(fill.fill_id), fill) for fill in fills if fill.symbol == listing.market.symbol)
        return [own_execution_row(fill) for fill in page_of(found, fields)]

    def _place(self, fields: Fields) -> object:
        kind = text_field(fields, "child_order_type")
        if kind not in ("LIMIT", "MARKET"):
            raise RequestRejectedError("invalid_request", "child_order_type")
        text_field(fields, "product_code")
        lifetime = fields.get("time_in_force") or "GTC"
        if lifetime not in _LIFETIMES:
            raise RequestRejectedError("invalid_request", "time_in_force")
        # Orders do not expire here before they would by default.
        if count_field(fields, "minute_to_expire", LIFETIME_MINUTES) != LIFETIME_MINUTES:
            raise RequestRejectedError("invalid_request", "minute_to_expire")
        order = self._exchange.place(
            OrderRequest(
                symbol=self._products.one(fields).market.symbol,
                side=side_field(fields, "side"),
                amount=decimal_field(fields, "size", "amount_invalid"),
                price=decimal_field(fields, "price", "price_invalid") if kind == "LIMIT" else None,
                immediate=lifetime == "IOC",
                whole=lifetime == "FOK",
            )
        )
        return {"child_order_acceptance_id": order.order_id}

    def _cancel(self, fields: Fields) -> object:
        """Cancel the order; the real exchange answers 200 without a body, even if the order has ended."""
        text_field(fields, "product_code")
        if not any(fields.get(name) for name in _IDS):
            raise RequestRejectedError("invalid_request", "child_order_acceptance_id")
        order = self._named(fields)
        if order is None or order.symbol != self._products.one(fields).market.symbol:
            raise RequestRejectedError("unknown_order")
        if order.state == "open":
            self._exchange.cancel(order.order_id)
        return None

    def _cancel_all(self, fields: Fields) -> object:
        text_field(fields, "product_code")
        symbol = self._products.one(fields).market.symbol
        for order in self._customer.open_orders():
            if order.symbol == symbol:
                self._exchange.cancel(order.order_id)
        return None

    def _named(self, fields: Fields) -> SimulatedOrder | None:
        """Return the order by its acceptance id, by its own id, or by both."""
        accepted, own = (str(fields.get(name) or "") for name in reversed(_IDS))
        order = self._customer.orders.get(accepted or own.replace("JOR", "JRF"))
        if order is None or (own and order_id(order.order_id) != own):
            return None
        return order
