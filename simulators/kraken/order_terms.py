"""The fields of a new order on Kraken, each checked as it would."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from market.instruments.orders import Side
from market.time_units import MICROSECONDS
from simulators.kraken.rows import LOT_DECIMALS, altname, is_rising
from simulators.matching.listings import Listing
from simulators.matching.order_admission import LARGEST, lots_within
from simulators.matching.order_records import OrderRequest, RequestRejectedError, SelfTrade, Trigger
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Fields, decimal_field, side_field, text_field

ORDER_FIELDS = (
    *("type", "ordertype", "price", "price2", "volume", "timeinforce", "oflags", "cl_ord_id", "userref", "leverage"),
    *("stptype", "starttm", "expiretm", "trigger", "reduce_only", "trading_agreement", "asset_class", "position"),
    # of a partner of the exchange, without effect on the order: changelog, 7 May 2026
    "broker",
    "close",
)
# fcib and nocomp are not simulated; they are rejected, so that they are not ignored silently.
_FLAGS = {"fciq", "nompp", "post", "viqc"}
_LIFETIMES = ("GTC", "IOC", "FOK", "GTD")
_WAITING_KINDS = ("stop-loss", "take-profit")
_KINDS = ("limit", "market", *_WAITING_KINDS, *(f"{kind}-limit" for kind in _WAITING_KINDS))
SELF_TRADES: dict[str, SelfTrade] = {"cancel-newest": "taker", "cancel-oldest": "maker", "cancel-both": "both"}
"""https://docs.kraken.com/api-reference/trading/add-order, `stptype`; the first is the default."""
# The values that each of them may have; anything else is not simulated.
_ONLY = {
    "leverage": ("", "none", "0"),
    "stptype": ("", *SELF_TRADES),
    "starttm": ("", "0"),
    "trigger": ("", "last"),
    "reduce_only": ("", "false"),
    "trading_agreement": ("", "agree"),
    "asset_class": ("", "forex", "currency"),
    # a position of margin trading that the order closes: older clients always send it
    "position": ("", "none", "0"),
    # an order that follows this one; those clients send an empty one
    "close": ("", "{}"),
}
_LONGEST_DEADLINE = timedelta(seconds=60)
_FREE_TEXT = re.compile(r"[\x21-\x7e]{1,18}")
_REFERENCE = re.compile(r"-?[0-9]{1,10}")
_LARGEST_REFERENCE = 2**31
_MOMENT = re.compile(r"\+?[0-9]{1,12}")


def order_request(fields: Fields, listing: Listing, exchange: SimulatedExchange) -> OrderRequest:
    """Return the order. Raises RequestRejectedError."""
    for name, values in _ONLY.items():
        if str(fields.get(name, "")).lower() not in values:
            raise RequestRejectedError("invalid_request", name)
    kind, side = text_field(fields, "ordertype"), side_field(fields, "type")
    if kind not in _KINDS:
        raise RequestRejectedError("invalid_request", "ordertype")
    lifetime = str(fields.get("timeinforce") or "GTC").upper()
    expires_at = _expiry(fields, exchange)
    if lifetime not in _LIFETIMES or (lifetime == "GTD" and expires_at is None):
        raise RequestRejectedError("invalid_request", "timeinforce")
    request = OrderRequest(
        symbol=listing.market.symbol,
        side=side,
        amount=_amount(fields, listing, exchange, side, kind),
        price=_price(fields, kind),
        immediate=lifetime == "IOC",
        client_order_id=_client_id(fields),
        whole=lifetime == "FOK",
        trigger=_trigger(fields, kind, side),
        user_reference=reference_field(fields),
        expires_at=expires_at,
        self_trade=SELF_TRADES[str(fields.get("stptype") or "cancel-newest").lower()],
    )
    check_digits(request, listing)
    _check_flags(fields, request, exchange)
    return request


def _price(fields: Fields, kind: str) -> Decimal | None:
    """Return the limit: `price2` of a stop order, whose `price` is what it waits for."""
    if kind == "limit":
        return _absolute(fields, "price")
    return _absolute(fields, "price2") if kind.endswith("-limit") else None


def _trigger(fields: Fields, kind: str, side: Side) -> Trigger | None:
    if not kind.startswith(_WAITING_KINDS):
        return None
    return Trigger(_absolute(fields, "price"), is_rising(kind.removesuffix("-limit"), side))


def _absolute(fields: Fields, name: str) -> Decimal:
    """Return a price; one relative to the market, such as +1% or #5, is not simulated."""
    if text_field(fields, name)[0] in "+-#":
        raise RequestRejectedError("price_invalid", name)
    return decimal_field(fields, name, "price_invalid")


def _amount(fields: Fields, listing: Listing, exchange: SimulatedExchange, side: Side, kind: str) -> Decimal:
    """Return the volume in base currency, or what so much quote currency buys at the market."""
    volume = decimal_field(fields, "volume", "amount_invalid")
    if "viqc" not in _flags(fields):
        return volume
    if kind != "market" or side != "buy" or not 0 < volume <= LARGEST:
        raise RequestRejectedError("invalid_request", "oflags")
    return listing.amount(lots_within(listing, exchange.books[listing.market.symbol], volume))


def _flags(fields: Fields) -> set[str]:
    return {flag for flag in str(fields.get("oflags") or "").split(",") if flag}


def _check_flags(fields: Fields, request: OrderRequest, exchange: SimulatedExchange) -> None:
    flags = _flags(fields)
    if not flags <= _FLAGS:
        raise RequestRejectedError("invalid_request", "oflags")
    if "post" in flags:
        if request.price is None or request.immediate or request.whole:
            raise RequestRejectedError("invalid_request", "oflags")
        check_post_only(request, exchange)


def check_post_only(request: OrderRequest, exchange: SimulatedExchange) -> None:
    if exchange.would_take(request):
        raise RequestRejectedError("order_rejected", "Post only order")


def reference_field(fields: Fields) -> int | None:
    """Return `userref`: 32 bits with a sign. Raises RequestRejectedError."""
    text = str(fields.get("userref") if fields.get("userref") is not None else "")
    if not text:
        return None
    if not _REFERENCE.fullmatch(text) or not -_LARGEST_REFERENCE <= int(text) < _LARGEST_REFERENCE:
        raise RequestRejectedError("invalid_request", "userref")
    return int(text)


def _expiry(fields: Fields, exchange: SimulatedExchange) -> int | None:
    """Return `expiretm` in microseconds: seconds since 1970, or from now on with a plus before them."""
    text = str(fields.get("expiretm") or "0")
    if not _MOMENT.fullmatch(text):
        raise RequestRejectedError("invalid_request", "expiretm")
    if not int(text):
        return None
    now = exchange.clock.now()
    moment = int(text) * MICROSECONDS + (now if text.startswith("+") else 0)
    if moment <= now:
        raise RequestRejectedError("invalid_request", "expiretm")
    return moment


def check_deadline(fields: Fields, now: int) -> None:
    """Check `deadline`: https://docs.kraken.com/api-reference/trading/add-order"""
    text = str(fields.get("deadline") or "")
    if not text:
        return
    try:
        deadline = datetime.fromisoformat(text)
    except ValueError:
        raise RequestRejectedError("invalid_request", "deadline") from None
    if deadline.tzinfo is None:
        raise RequestRejectedError("invalid_request", "deadline")
    left = deadline - datetime.fromtimestamp(now / MICROSECONDS, UTC)
    if left > _LONGEST_DEADLINE:
        raise RequestRejectedError("invalid_request", "deadline")
    if left < timedelta():
        raise RequestRejectedError("too_late")


def _client_id(fields: Fields) -> str | None:
    """Return a UUID, with dashes or without, or up to 18 characters of text: https://docs.kraken.com/api/blog/cl-ord-id"""
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


def check_digits(request: OrderRequest, listing: Listing) -> None:
    """Check the digits; Kraken says which number has too many, and how many it may have."""
    prices = [request.price, None if request.trigger is None else request.trigger.price]
    if any(price is not None and decimals_in(price) > listing.price_decimals for price in prices):
        detail = f"{altname(listing)} price can only be specified up to {listing.price_decimals} decimals."
        raise RequestRejectedError("too_precise", detail)
    if decimals_in(request.amount) > LOT_DECIMALS:
        raise RequestRejectedError("amount_invalid")


def decimals_in(number: Decimal) -> int:
    """Return the number of digits after the point, without trailing zeros."""
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
