"""Coinbase's rejections: HTTP errors with a word, and orders that were not made, in an answer of HTTP 200.

https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/orders/create-order, read in November 2026; the
words of the firewall and of too many requests stand in no document.
"""

from collections.abc import Mapping

from aiohttp import web

from simulators.matching.order_records import Reason, RequestRejectedError
from simulators.web.exchange_gateway import json_reply

_UNAUTHORIZED: tuple[Reason, ...] = ("unknown_key", "signature", "clock", "nonce", "passphrase")
_WORDS: Mapping[Reason, tuple[int, str, str]] = {
    "invalid_request": (400, "INVALID_ARGUMENT", "{detail} is missing or invalid"),
    "misused": (400, "INVALID_ARGUMENT", "{detail}"),
    "unknown_market": (400, "INVALID_ARGUMENT", "valid product_id is required"),
    "unknown_order": (404, "unknown", "order with this orderID was not found"),
    "unknown_path": (404, "NOT_FOUND", "Not Found"),
    "maintenance": (503, "UNAVAILABLE", "the service is under maintenance"),
    "unavailable": (500, "INTERNAL", "internal error"),
}
_SERVER_ERROR = (500, "INTERNAL", "internal error")
_UNKNOWN, _UNKNOWN_PREVIEW = "UNKNOWN_FAILURE_REASON", "UNKNOWN_PREVIEW_FAILURE_REASON"
_OF_ORDERS: Mapping[Reason, tuple[str, str, str]] = {
    "insufficient_funds": ("INSUFFICIENT_FUND", "Insufficient balance in source account", "PREVIEW_INSUFFICIENT_FUND"),
    "amount_too_small": (_UNKNOWN, "", "PREVIEW_INVALID_BASE_SIZE_TOO_SMALL"),
    "amount_invalid": (_UNKNOWN, "", "PREVIEW_INVALID_BASE_SIZE_TOO_LARGE"),
    "price_invalid": (_UNKNOWN, "", "PREVIEW_INVALID_LIMIT_PRICE"),
    "unknown_market": ("INVALID_PRODUCT_ID", "", "PREVIEW_INVALID_PRODUCT_ID"),
    "market_closed": ("ORDER_ENTRY_DISABLED", "", _UNKNOWN_PREVIEW),
    "order_rejected": ("COMMANDER_REJECTED_NEW_ORDER", "", _UNKNOWN_PREVIEW),
}
"""What it says of an order that was not made: error, message, and why a preview of it fails."""


class OrderRefusedError(RequestRejectedError):
    """An order that was not made, in words of its own."""

    def __init__(self, error: str, preview: str) -> None:
        super().__init__("misused", error)
        self.preview = preview


def rejection(error: RequestRejectedError) -> web.Response:
    if error.reason in _UNAUTHORIZED:
        # it does not say why
        return web.Response(status=401, text="Unauthorized")
    if error.reason == "banned":
        return web.Response(status=403, text="Forbidden")
    if error.reason == "rate_limited":
        return json_reply({"errors": [{"id": "rate_limit_exceeded", "message": "Too many requests"}]}, 429)
    status, word, text = _WORDS.get(error.reason, _SERVER_ERROR)
    text = text.format(detail=error.detail)
    return json_reply({"error": word, "error_details": text, "message": text}, status)


def refused_order(error: RequestRejectedError, configuration: object) -> dict[str, object]:
    """Return the answer to an order that was not made. Raises the rejection again if it is one of the request."""
    if isinstance(error, OrderRefusedError):
        word, message, preview = error.detail, "", error.preview
    elif error.reason in _OF_ORDERS:
        word, message, preview = _OF_ORDERS[error.reason]
    else:
        raise error
    reasons = {"preview_failure_reason": preview, "new_order_failure_reason": word}
    return {
        "success": False,
        "failure_reason": _UNKNOWN,
        "order_id": "",
        "error_response": {"error": word, "message": message, "error_details": "", **reasons},
        "order_configuration": configuration,
    }
