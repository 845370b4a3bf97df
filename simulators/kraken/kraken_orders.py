"""Kraken's private calls that place and cancel orders."""

import re
from decimal import Decimal
from uuid import UUID

from market.time_units import MICROSECONDS
from simulators.kraken.kraken_public import KrakenPairs
from simulators.kraken.kraken_rows import LOT_DECIMALS, altname, description
from simulators.matching.listings import Listing
from simulators.matching.order_records import OrderRequest, RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.api_calls import Call, Fields, known
from simulators.web.exchange_gateway import decimal_field, iso_text, side_field, text_field

# fcib, viqc and the rest are not simulated; they are rejected, so that they are not ignored silently.
_FLAGS = {"fciq", "nompp", "post"}
_LIFETIMES = ("GTC", "IOC")
_SECONDS = re.compile(r"[0-9]{1,9}")
_FREE_TEXT = re.compile(r"[\x21-\x7e]{1,18}")


class KrakenOrders:
    def __init__(self, exchange: SimulatedExchange, pairs: KrakenPairs) -> None:
        self._exchange = exchange
        self._pairs = pairs
        self._cancels_at: int | None = None
        """When the dead man's switch falls, microseconds; None where it is not armed."""

    def calls(self) -> dict[str, Call]:
        order = ("pair", "type", "ordertype", "price", "volume", "timeinforce", "oflags", "cl_ord_id")
        return {
            "AddOrder": Call(self._place, known("nonce", *order)),
            "CancelOrder": Call(self._cancel, known("nonce", "txid", "cl_ord_id")),
            "CancelAll": Call(self._cancel_all, known("nonce")),
            "CancelAllOrdersAfter": Call(self._cancel_all_after, known("nonce", "timeout")),
        }

    def _place(self, fields: Fields) -> object:
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
        self._check_flags(fields, request, listing)
        order = self._exchange.place(request)
        row: dict[str, object] = {"txid": [order.order_id], "descr": {"order": description(order, listing)}}
        if order.client_order_id is not None:
            row["cl_ord_id"] = order.client_order_id
        return row

    def _check_flags(self, fields: Fields, request: OrderRequest, listing: Listing) -> None:
        flags = {flag for flag in str(fields.get("oflags") or "").split(",") if flag}
        if not flags <= _FLAGS:
            raise RequestRejectedError("invalid_request", "oflags")
        if "post" not in flags:
            return
        if request.price is None or request.immediate:
            raise RequestRejectedError("invalid_request", "oflags")
        best = self._exchange.books[request.symbol].best("sell" if request.side == "buy" else "buy")
        sign = 1 if request.side == "buy" else -1
        if best is not None and sign * listing.ticks(request.price) >= sign * best:
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

    def fall(self) -> None:
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
