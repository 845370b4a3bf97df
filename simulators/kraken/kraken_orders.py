"""Kraken's calls that place and cancel orders: private REST, and the same under other names over WebSocket."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from market.time_units import MICROSECONDS
from simulators.kraken.kraken_public import KrakenPairs
from simulators.kraken.kraken_rows import LOT_DECIMALS, altname, description
from simulators.matching.listings import Listing
from simulators.matching.order_records import OrderRequest, RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Call, Fields, decimal_field, iso_text, known, side_field, text_field

# fcib, viqc and the rest are not simulated; they are rejected, so that they are not ignored silently.
_FLAGS = {"fciq", "nompp", "post"}
_LIFETIMES = ("GTC", "IOC")
_LONGEST_DEADLINE = timedelta(seconds=60)
_SECONDS = re.compile(r"[0-9]{1,9}")
_FREE_TEXT = re.compile(r"[\x21-\x7e]{1,18}")
_AS_IN_REST = {
    "order_type": "ordertype",
    "side": "type",
    "order_qty": "volume",
    "limit_price": "price",
    "time_in_force": "timeinforce",
    "cl_ord_id": "cl_ord_id",
    "deadline": "deadline",
}
Result = dict[str, object]


class KrakenOrders:
    def __init__(self, exchange: SimulatedExchange, pairs: KrakenPairs) -> None:
        self._exchange = exchange
        self._pairs = pairs
        self._cancels_at: int | None = None
        """When the dead man's switch cancels all orders, microseconds; None where it is not armed."""

    def calls(self) -> dict[str, Call]:
        order = ("pair", "type", "ordertype", "price", "volume", "timeinforce", "oflags", "cl_ord_id", "deadline")
        return {
            "AddOrder": Call(self._place, known("nonce", *order)),
            "CancelOrder": Call(self._cancel, known("nonce", "txid", "cl_ord_id")),
            "CancelAll": Call(self._cancel_all, known("nonce")),
            "CancelAllOrdersAfter": Call(self._cancel_all_after, known("nonce", "timeout")),
        }

    def _place(self, fields: Fields) -> object:
        self._check_deadline(fields)
        kind = text_field(fields, "ordertype")
        if kind not in ("limit", "market"):
            raise RequestRejectedError("invalid_request", "ordertype")
        listing = self._pairs.one(text_field(fields, "pair"))
        lifetime = str(fields.get("timeinforce") or "GTC").upper()
        if lifetime not in _LIFETIMES:
            raise RequestRejectedError("invalid_request", "timeinforce")
        request = OrderRequest(
            symbol=listing.market.symbol,
            side=side_field(fields, "type"),
            amount=decimal_field(fields, "volume", "amount_invalid"),
            price=decimal_field(fields, "price", "price_invalid") if kind == "limit" else None,
            immediate=lifetime == "IOC",
            client_order_id=_client_id(fields),
        )
        _check_digits(request, listing)
        self._check_flags(fields, request)
        order = self._exchange.place(request)
        row: dict[str, object] = {"txid": [order.order_id], "descr": {"order": description(order, listing)}}
        if order.client_order_id is not None:
            row["cl_ord_id"] = order.client_order_id
        return row

    def _check_deadline(self, fields: Fields) -> None:
        """https://docs.kraken.com/api-reference/trading/add-order, `deadline`"""
        text = str(fields.get("deadline") or "")
        if not text:
            return
        try:
            deadline = datetime.fromisoformat(text)
        except ValueError:
            raise RequestRejectedError("invalid_request", "deadline") from None
        if deadline.tzinfo is None:
            raise RequestRejectedError("invalid_request", "deadline")
        left = deadline - datetime.fromtimestamp(self._exchange.clock.now() / MICROSECONDS, UTC)
        if left > _LONGEST_DEADLINE:
            raise RequestRejectedError("invalid_request", "deadline")
        if left < timedelta():
            raise RequestRejectedError("too_late")

    def _check_flags(self, fields: Fields, request: OrderRequest) -> None:
        flags = {flag for flag in str(fields.get("oflags") or "").split(",") if flag}
        if not flags <= _FLAGS:
            raise RequestRejectedError("invalid_request", "oflags")
        if "post" not in flags:
            return
        if request.price is None or request.immediate:
            raise RequestRejectedError("invalid_request", "oflags")
        if self._exchange.would_take(request):
            raise RequestRejectedError("order_rejected", "Post only order")

    def _cancel(self, fields: Fields) -> object:
        customer = self._exchange.customer
        if fields.get("cl_ord_id"):
            if fields.get("txid"):
                raise RequestRejectedError("invalid_request", "txid")
            order = customer.latest_by_client_id(str(fields["cl_ord_id"]))
            self._exchange.cancel(order.order_id)
        else:
            self._exchange.cancel(text_field(fields, "txid"))
        return {"count": 1}

    def _cancel_all(self, _fields: Fields) -> object:
        orders = self._exchange.customer.open_orders()
        for order in orders:
            self._exchange.cancel(order.order_id)
        return {"count": len(orders)}

    def _cancel_all_after(self, fields: Fields) -> object:
        """https://docs.kraken.com/api-reference/trading/cancel-all-orders-after-x"""
        text = text_field(fields, "timeout")
        if not _SECONDS.fullmatch(text):
            raise RequestRejectedError("invalid_request", "timeout")
        now, seconds = self._exchange.clock.now(), int(text)
        self._cancels_at = now + seconds * MICROSECONDS if seconds else None
        trigger = "0" if self._cancels_at is None else _whole_second(self._cancels_at)
        return {"currentTime": _whole_second(now), "triggerTime": trigger}

    def cancel_if_due(self) -> None:
        """Cancel everything where the switch was not pushed back in time; it is then off until it is armed again."""
        if self._cancels_at is not None and self._exchange.clock.now() >= self._cancels_at:
            self._cancels_at = None
            self._cancel_all({})


def _whole_second(micros: int) -> str:
    return f"{iso_text(micros).partition('.')[0]}Z"


def _client_id(fields: Fields) -> str | None:
    """A UUID, with dashes or without, or up to 18 characters of text: https://docs.kraken.com/api/blog/cl-ord-id"""
    if "cl_ord_id" not in fields:
        return None
    name = str(fields["cl_ord_id"])
    if not _FREE_TEXT.fullmatch(name) and not _is_uuid(name):
        raise RequestRejectedError("client_id_invalid")
    return name


def _is_uuid(name: str) -> bool:
    try:
        uuid = UUID(name)
    except ValueError:
        return False
    return name.lower() in (str(uuid), uuid.hex)


def _check_digits(request: OrderRequest, listing: Listing) -> None:
    """Kraken says which number has too many digits, and how many it may have."""
    if request.price is not None and decimals_in(request.price) > listing.price_decimals:
        detail = f"{altname(listing)} price can only be specified up to {listing.price_decimals} decimals."
        raise RequestRejectedError("too_precise", detail)
    if decimals_in(request.amount) > LOT_DECIMALS:
        raise RequestRejectedError("amount_invalid")


def decimals_in(number: Decimal) -> int:
    """Digits after the point, trailing zeros left out."""
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


class KrakenTrading:
    """`rest`: AddOrder, CancelOrder and CancelAll."""

    def __init__(self, exchange: SimulatedExchange, rest: Mapping[str, Call]) -> None:
        self._exchange = exchange
        self._rest = rest
        self._methods: dict[str, tuple[Callable[[Fields], list[Result]], frozenset[str]]] = {
            "add_order": (self._add, known("token", "symbol", "post_only", *_AS_IN_REST)),
            "cancel_order": (self._cancel, known("token", "order_id", "cl_ord_id")),
            "cancel_all": (self._cancel_all, known("token")),
        }

    def knows(self, method: str) -> bool:
        return method in self._methods

    def results(self, method: str, parameters: Fields) -> list[Result]:
        """Each is answered apart. Raises RequestRejectedError."""
        answer, names = self._methods[method]
        for name in parameters:
            if name not in names:
                raise RequestRejectedError("invalid_request", name)
        return answer(parameters)

    def _add(self, parameters: Fields) -> list[Result]:
        listing = self._exchange.listings.get(str(parameters.get("symbol")))
        if listing is None:
            raise RequestRejectedError("unknown_market")
        fields = {rest: parameters[name] for name, rest in _AS_IN_REST.items() if name in parameters}
        if not isinstance(parameters.get("post_only", False), bool):
            raise RequestRejectedError("invalid_request", "post_only")
        if not isinstance(parameters.get("cl_ord_id", ""), str):
            raise RequestRejectedError("client_id_invalid")
        if parameters.get("post_only"):
            fields["oflags"] = "post"
        row: Any = self._rest["AddOrder"]({**fields, "pair": listing.market_id})
        result: Result = {"order_id": row["txid"][0]}
        if "cl_ord_id" in row:
            result["cl_ord_id"] = row["cl_ord_id"]
        return [result]

    def _cancel(self, parameters: Fields) -> list[Result]:
        """All of them or none: an unknown id rejects the whole call."""
        names, client_ids = _texts(parameters, "order_id"), _texts(parameters, "cl_ord_id")
        customer = self._exchange.customer
        orders = [customer.order(name) for name in names]
        orders += [customer.latest_by_client_id(name) for name in client_ids]
        if not orders:
            raise RequestRejectedError("invalid_request", "order_id")
        for order in orders:
            if order.state != "open":
                raise RequestRejectedError("order_ended", order.order_id)
        for name in dict.fromkeys(order.order_id for order in orders):
            self._exchange.cancel(name)
        results: list[Result] = [{"order_id": name} for name in names]
        results += [{"cl_ord_id": name} for name in client_ids]
        return results

    def _cancel_all(self, _parameters: Fields) -> list[Result]:
        row: Any = self._rest["CancelAll"]({})
        return [{"count": row["count"]}]


def _texts(parameters: Fields, name: str) -> list[str]:
    rows = parameters.get(name, [])
    if not isinstance(rows, list):
        raise RequestRejectedError("invalid_request", name)
    return [str(row) for row in rows]
