"""Bitstamp's rejections: a `reason`, per field or general, and a code."""

from decimal import Decimal

from aiohttp import web

from market.instruments.markets import Market
from simulators.matching.listings import decimals_of, fixed_text
from simulators.matching.order_admission import number_off_step
from simulators.matching.order_records import OrderRequest, Reason, RequestRejectedError
from simulators.web.exchange_gateway import json_reply

_AUTHENTICATION: dict[Reason, tuple[str, str]] = {
    "unknown_key": ("API key not found", "API0001"),
    "banned": ("IP address not allowed", "API0002"),
    "nonce": ("Invalid nonce", "API0004"),
    "signature": ("Invalid signature", "API0005"),
    "clock": ("X-Auth-Timestamp header is out of boundaries", "API0017"),
}
HEADERS = {
    "X-Auth": "API0012",
    "X-Auth-Signature": "API0013",
    "X-Auth-Nonce": "API0014",
    "X-Auth-Timestamp": "API0015",
    "X-Auth-Version": "API0016",
}
"""Headers of every signed request, and the error code if one is missing."""

# (HTTP status, which field it is about, words, code)
_REASONS: dict[Reason, tuple[int, str, str, str]] = {
    "insufficient_funds": (
        400,
        "__all__",
        "You have only {detail} available. Check your account balance for details.",
        "400.009",
    ),
    "amount_too_small": (400, "__all__", "Minimum order size is {detail}.", "400.020"),
    "amount_invalid": (400, "amount", "Enter a number.", "400.026"),
    "price_invalid": (400, "price", "Enter a number.", "400.041"),
    "client_id_used": (400, "__all__", "Provided client_order_id already exists.", "400.019"),
    "order_rejected": (400, "__all__", "Order rejected by matching engine.", "500.017"),
}
# (HTTP status, words, code) of what is said in one sentence
_SENTENCES: dict[Reason, tuple[int, str, str]] = {
    "unknown_order": (404, "Order not found.", "404.002"),
    "order_ended": (404, "Order not found.", "404.002"),
    "unknown_market": (404, "Market not found for corresponding request.", "404.007"),
    "invalid_request": (400, "POST parameter(s) is malformed: {detail}.", "400.007"),
}
# Without a status, so that a reader goes by HTTP's own code.
_EXPLANATIONS: dict[Reason, tuple[int, str, str]] = {
    "rate_limited": (429, "Request rejected due to exceeded rate limit.", "400.002"),
    "unavailable": (500, "One of Bitstamp internal services failed to process request.", "500.002"),
}
_OTHERS: dict[Reason, tuple[int, dict[str, str]]] = {
    "maintenance": (503, {"error": "Bitstamp.net is under scheduled maintenance. We'll be back soon."}),
    # no document has the words
    "unknown_path": (404, {"status": "error", "reason": "Not found."}),
}


def rejection(error: RequestRejectedError, available: Decimal) -> web.Response:
    """Return the response; `available`: what the account has of the currency that is short, if that is the reason."""
    reason, detail = error.reason, error.detail
    if reason in _OTHERS:
        status, body = _OTHERS[reason]
        return json_reply(body, status)
    if reason in _AUTHENTICATION:
        return _unauthenticated(reason, detail)
    if reason in _EXPLANATIONS:
        status, text, code = _EXPLANATIONS[reason]
        return json_reply({"response_code": code, "response_explanation": text}, status)
    if reason in _SENTENCES:
        status, text, code = _SENTENCES[reason]
        return _error_reply(status, text.format(detail=detail), code)
    if reason == "too_precise":
        field, _, decimals = detail.partition(":")
        words = f"Ensure that there are no more than {decimals} decimal places."
        return _error_reply(400, {field: [words], "__all__": [""]}, "400.007")
    if reason == "insufficient_funds":
        detail = f"{fixed_text(available, 8)} {detail}"
    status, field, text, code = _REASONS.get(reason, (400, "__all__", "Unknown validation error.", "400.001"))
    return _error_reply(status, {field: [text.format(detail=detail)]}, code)


def check_steps(request: OrderRequest, market: Market) -> None:
    """Raise RequestRejectedError with the field and its decimals if amount or price lie between two steps."""
    if (found := number_off_step(request, market)) is not None:
        field, step = found
        raise RequestRejectedError("too_precise", f"{field}:{decimals_of(step)}")


def _unauthenticated(reason: Reason, header: str) -> web.Response:
    text, code = _AUTHENTICATION[reason]
    if header in HEADERS:
        text, code = f"{header} header is required", HEADERS[header]
    return json_reply({"status": "error", "reason": text, "code": code}, 403)


def _error_reply(status: int, reason: object, code: str) -> web.Response:
    return json_reply({"status": "error", "reason": reason, "response_code": code}, status)
