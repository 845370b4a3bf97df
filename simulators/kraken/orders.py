"""Kraken's private calls that place, amend and cancel orders."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from market.time_units import MICROSECONDS
from simulators.kraken.limits import AMENDED, CANCELLED, EDITED, KrakenEngineLimits
from simulators.kraken.order_terms import (
    ORDER_FIELDS,
    check_deadline,
    check_digits,
    check_post_only,
    order_request,
)
from simulators.kraken.public import KrakenPairs
from simulators.kraken.rejections import error_text
from simulators.kraken.rows import description, edited_terms, prices_of, transaction_name
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_records import OrderRequest, RequestRejectedError, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Call, Fields, decimal_field, iso_text, known, text_field

_SECONDS = re.compile(r"[0-9]{1,9}")
_MOST_IN_BATCH = 15
_MOST_CANCELLED = 50
_NEW_TERMS = ("volume", "price", "price2", "oflags", "userref")
_EDITED_FIELDS = ("txid", "cancel_response", "asset_class", *_NEW_TERMS)


class KrakenOrders:
    def __init__(self, exchange: SimulatedExchange, pairs: KrakenPairs, limits: KrakenEngineLimits) -> None:
        self._exchange = exchange
        self._customer = exchange.customer
        self._pairs = pairs
        self._limits = limits
        self._cancels_at: int | None = None
        """When the dead man's switch cancels all orders, microseconds; None if it is not armed."""

    def calls(self) -> dict[str, Call]:
        whole = ("nonce", "pair", "deadline", "validate")
        amended = ("txid", "cl_ord_id", "order_qty", "limit_price", "post_only", "deadline", "pair")
        return {
            "AddOrder": Call(self._place, known(*whole, *ORDER_FIELDS)),
            "AddOrderBatch": Call(self._place_batch, known(*whole, "orders")),
            "AmendOrder": Call(self._amend, known("nonce", *amended)),
            "EditOrder": Call(self._edit, known(*whole, *_EDITED_FIELDS)),
            "CancelOrder": Call(self._cancel, known("nonce", "txid", "cl_ord_id")),
            "CancelOrderBatch": Call(self._cancel_batch, known("nonce", "orders", "cl_ord_ids")),
            "CancelAll": Call(self._cancel_all, known("nonce")),
            "CancelAllOrdersAfter": Call(self._cancel_all_after, known("nonce", "timeout")),
        }

    def _place(self, fields: Fields) -> object:
        check_deadline(fields, self._exchange.clock.now())
        return self._placed_row(fields, _is_test(fields))

    def _placed_row(self, fields: Fields, is_test: bool) -> dict[str, Any]:
        listing = self._pairs.one(text_field(fields, "pair"))
        self._limits.take(listing.market.symbol)
        return self._new_row(fields, listing, is_test)

    def _new_row(self, fields: Fields, listing: Listing, is_test: bool) -> dict[str, Any]:
        request = order_request(fields, listing, self._exchange)
        if is_test:
            return {"descr": {"order": description(self._exchange.checked(request), listing)}}
        order = self._exchange.place(request)
        row = {"txid": [order.order_id], "descr": {"order": description(order, listing)}}
        return row if order.client_order_id is None else {**row, "cl_ord_id": order.client_order_id}

    def _place_batch(self, fields: Fields) -> object:
        """Place orders of one market; each is answered by itself, and may be rejected by itself."""
        check_deadline(fields, self._exchange.clock.now())
        orders = fields.get("orders")
        if not isinstance(orders, list) or not 2 <= len(orders) <= _MOST_IN_BATCH:
            raise RequestRejectedError("invalid_request", "orders")
        listing, is_test = self._pairs.one(text_field(fields, "pair")), _is_test(fields)
        self._limits.take(listing.market.symbol, -(-len(orders) // 2))
        return {"orders": [self._batch_row(order, listing, is_test) for order in orders]}

    def _batch_row(self, order: object, listing: Listing, is_test: bool) -> Mapping[str, object]:
        try:
            if not isinstance(order, dict):
                raise RequestRejectedError("invalid_request", "orders")
            if unknown := order.keys() - set(ORDER_FIELDS):
                raise RequestRejectedError("invalid_request", min(unknown))
            row = self._new_row(order, listing, is_test)
        except RequestRejectedError as error:
            return {"error": error_text(error)}
        return row if is_test else {**row, "txid": row["txid"][0]}

    def _amend(self, fields: Fields) -> object:
        """Amend an order: https://docs.kraken.com/api-reference/trading/amend-order; `order_qty` counts what has
        filled."""
        check_deadline(fields, self._exchange.clock.now())
        order = self._named(fields)
        self._limits.take(order.symbol)
        amount = decimal_field(fields, "order_qty", "amount_invalid") if fields.get("order_qty") else None
        price = decimal_field(fields, "limit_price", "price_invalid") if fields.get("limit_price") else None
        if amount is None and price is None:
            raise RequestRejectedError("invalid_request", "order_qty")
        changed = OrderRequest(
            order.symbol,
            order.side,
            amount or order.amount,
            price or order.price,
            order.immediate,
            trigger=order.trigger,
        )
        check_digits(changed, self._exchange.listings[order.symbol])
        if str(fields.get("post_only", "")).lower() == "true":
            check_post_only(changed, self._exchange)
        self._exchange.amend(order.order_id, amount, price)
        self._limits.penalize(order, AMENDED)
        now = self._exchange.clock.now()
        return {"amend_id": transaction_name("T", order.number, now)}

    def _edit(self, fields: Fields) -> object:
        """Cancel an order and place another of its side and kind:
        https://docs.kraken.com/api-reference/trading/edit-order

        The amount of the new one if `volume` is left out is not documented: here it is the old one's.
        """
        check_deadline(fields, self._exchange.clock.now())
        listing, order = self._pairs.one(text_field(fields, "pair")), self._edited(text_field(fields, "txid"))
        self._limits.take(listing.market.symbol)
        if order.state != "open" or order.symbol != listing.market.symbol:
            raise RequestRejectedError("unknown_order", order.order_id)
        if order.triggered_at is not None:
            raise RequestRejectedError("order_rejected", "Cannot edit a triggered order")
        changed = {**edited_terms(order, listing), **{name: fields[name] for name in _NEW_TERMS if name in fields}}
        request = order_request(changed, listing, self._exchange)
        if order.filled > request.amount:
            raise RequestRejectedError("amount_invalid", "volume")
        row: dict[str, Any] = {"status": "ok", "originaltxid": order.order_id, "orders_cancelled": 1}
        if _is_test(fields):
            return {**row, **_terms_row(self._exchange.checked(request), listing)}
        placed = self._exchange.replace(order.order_id, request)
        self._limits.penalize(order, EDITED)
        return {**row, "txid": placed.order_id, **_terms_row(placed, listing)}

    def _edited(self, name: str) -> SimulatedOrder:
        """Return the order by its id, or by a `userref` that one open order has."""
        referenced = self._referenced(name) if _is_reference(name) else []
        return referenced[0] if len(referenced) == 1 else self._customer.order(name)

    def _named(self, fields: Fields) -> SimulatedOrder:
        """Return the order that `cl_ord_id` or `txid` names. Raises RequestRejectedError."""
        if not fields.get("cl_ord_id"):
            return self._customer.order(text_field(fields, "txid"))
        if fields.get("txid"):
            raise RequestRejectedError("invalid_request", "txid")
        return self._customer.latest_by_client_id(str(fields["cl_ord_id"]))

    def _cancel(self, fields: Fields) -> object:
        """Cancel one order, or all open ones of a `userref`."""
        reference = str(fields.get("txid") or "")
        if _is_reference(reference) and not fields.get("cl_ord_id"):
            orders = self._referenced(reference)
            if not orders:
                raise RequestRejectedError("unknown_order", reference)
        else:
            orders = [self._named(fields)]
        return {"count": self._cancelled(orders)}

    def _cancel_batch(self, fields: Fields) -> object:
        """Cancel orders; those that are unknown or have ended are left out."""
        names, client_ids = fields.get("orders") or [], fields.get("cl_ord_ids") or []
        if not isinstance(names, list) or not isinstance(client_ids, list):
            raise RequestRejectedError("invalid_request", "orders")
        if not 1 <= len(names) + len(client_ids) <= _MOST_CANCELLED:
            raise RequestRejectedError("invalid_request", "orders")
        found = [order for name in names for order in self._meant(str(name))]
        found += [order for name in client_ids for order in self._customer.orders_by_client_id(str(name))]
        by_id = {order.order_id: order for order in found if order.state == "open"}
        return {"count": self._cancelled(by_id.values())}

    def _meant(self, name: str) -> list[SimulatedOrder]:
        if _is_reference(name):
            return self._referenced(name)
        order = self._customer.orders.get(name)
        return [] if order is None else [order]

    def _referenced(self, reference: str) -> list[SimulatedOrder]:
        return [order for order in self._customer.open_orders() if str(order.user_reference) == reference]

    def _cancelled(self, orders: Iterable[SimulatedOrder]) -> int:
        return len([self.cancel(order) for order in orders])

    def cancel(self, order: SimulatedOrder) -> SimulatedOrder:
        """Cancel the order. Raises RequestRejectedError if it is no longer open."""
        ended = self._exchange.cancel(order.order_id)
        self._limits.penalize(order, CANCELLED)
        return ended

    def _cancel_all(self, _fields: Fields) -> object:
        return {"count": self._cancelled(self._customer.open_orders())}

    def _cancel_all_after(self, fields: Fields) -> object:
        """Set the dead man's switch: https://docs.kraken.com/api-reference/trading/cancel-all-orders-after-x"""
        text = text_field(fields, "timeout")
        if not _SECONDS.fullmatch(text):
            raise RequestRejectedError("invalid_request", "timeout")
        now, seconds = self._exchange.clock.now(), int(text)
        self._cancels_at = now + seconds * MICROSECONDS if seconds else None
        trigger = "0" if self._cancels_at is None else _whole_second(self._cancels_at)
        return {"currentTime": _whole_second(now), "triggerTime": trigger}

    def cancel_if_due(self) -> None:
        """End orders whose time is over, and all orders if the switch was not pushed back in time; it is then off."""
        self._exchange.expire_orders()
        if self._cancels_at is not None and self._exchange.clock.now() >= self._cancels_at:
            self._cancels_at = None
            for order in self._customer.open_orders():
                self._exchange.cancel(order.order_id)


def _terms_row(order: SimulatedOrder, listing: Listing) -> dict[str, object]:
    price, second_price = prices_of(order, listing)
    amount = {"volume": fixed_text(order.amount, 8), "price": price, "price2": second_price}
    return {**amount, "descr": {"order": description(order, listing)}}


def _is_test(fields: Fields) -> bool:
    return str(fields.get("validate", "")).lower() == "true"


def _is_reference(name: str) -> bool:
    """Return whether it is a `userref`, not an order's name."""
    return name.removeprefix("-").isdecimal()


def _whole_second(micros: int) -> str:
    return f"{iso_text(micros).partition('.')[0]}Z"
