"""Coinbase Exchange's rejections: always one `message`."""

from aiohttp import web

from market.instruments.markets import Market
from simulators.matching.listings import fixed_text
from simulators.matching.order_admission import number_off_step
from simulators.matching.order_records import OrderRequest, Reason, RequestRejectedError
from simulators.web.exchange_gateway import json_reply

_WORDS: dict[Reason, tuple[int, str]] = {
    "unknown_key": (401, "Invalid API Key"),
    "signature": (401, "invalid signature"),
    "passphrase": (401, "Invalid Passphrase"),
    "clock": (401, "request timestamp expired"),
    "insufficient_funds": (400, "Insufficient funds"),
    "amount_too_small": (400, "size is too small. Minimum size is {detail}"),
    "amount_invalid": (400, "Invalid size {detail}"),
    "price_invalid": (400, "Invalid price {detail}"),
    "too_precise": (400, "{detail}"),
    "client_id_invalid": (400, "Invalid client_oid"),
    "client_id_used": (400, "Duplicate client_oid"),
    "unknown_order": (404, "NotFound"),
    "order_ended": (400, "Order already done"),
    "unknown_market": (404, "Product not found"),
    "unknown_path": (404, "NotFound"),
    "invalid_request": (400, "{detail} is missing or invalid"),
    "misused": (400, "{detail}"),
    "rate_limited": (429, "Private rate limit exceeded"),
    "banned": (403, "Forbidden"),
    "maintenance": (503, "We are under maintenance. For updates, please see our status page."),
    "unavailable": (500, "Internal server error"),
    "order_rejected": (400, "Limit only mode"),
}

KEY_REASONS: tuple[Reason, ...] = ("unknown_key", "signature", "passphrase", "clock")
"""Reasons that the stream reports as a failed authentication."""


def rejection(error: RequestRejectedError) -> web.Response:
    return json_reply({"message": error_text(error)}, _WORDS.get(error.reason, (400, ""))[0])


def error_text(error: RequestRejectedError) -> str:
    if error.reason == "unknown_key" and error.detail:
        return error.detail
    if (error.reason, error.detail) == ("rate_limited", "Public"):
        return "Public rate limit exceeded"
    _, text = _WORDS.get(error.reason, (400, "Bad Request"))
    return text.format(detail=error.detail)


def check_steps(request: OrderRequest, market: Market) -> None:
    """Raise RequestRejectedError in the exchange's own words if size or price lie between two steps."""
    if (found := number_off_step(request, market)) is not None:
        field, step = found
        name, unit = "size" if field == "amount" else field, fixed_text(step, 8)
        raise RequestRejectedError("too_precise", f"{name} is too accurate. Smallest unit is {unit}")
