"""Bybit's rejections: a `retCode` and its words, mostly with HTTP 200.

https://bybit-exchange.github.io/docs/v5/error, read in November 2026; of codes that it does not word, what clients have
logged.
"""

from collections.abc import Mapping

from simulators.matching.order_records import CodedError, Reason, RequestRejectedError

_WORDS: Mapping[Reason, tuple[int, int, str]] = {
    "signature": (200, 10004, "Error sign, please check your signature generation algorithm."),
    "unknown_key": (200, 10003, "API key is invalid."),
    "clock": (
        200,
        10002,
        "invalid request, please check your server timestamp or recv_window param.",
    ),
    "rate_limited": (200, 10006, "Too many visits. Exceeded the API Rate Limit."),
    "banned": (403, 10018, "Exceeded the IP Rate Limit."),
    "invalid_request": (200, 10001, "params error: {detail}"),
    "unknown_market": (200, 10001, "Not supported symbols"),
    "unknown_path": (404, 10017, "Route not found."),
    "insufficient_funds": (200, 170131, "Insufficient balance."),
    "amount_too_small": (200, 170140, "Order value exceeded lower limit."),
    "amount_invalid": (200, 170130, "Data sent for parameter 'qty' is not valid."),
    "price_invalid": (200, 170130, "Data sent for parameter 'price' is not valid."),
    "too_precise": (200, 170137, "Order quantity has too many decimals."),
    "client_id_invalid": (200, 10001, "params error: orderLinkId is invalid"),
    "client_id_used": (200, 170141, "Duplicate clientOrderId"),
    "unknown_order": (200, 170213, "Order does not exist."),
    "order_ended": (200, 170213, "Order does not exist."),
    "order_rejected": (200, 170210, "New order rejected."),
    "market_closed": (200, 170157, "The trading pair is not available for api trading."),
    # no document has the words of either
    "unavailable": (500, 10016, "Server error."),
    "maintenance": (503, 10016, "Service is under maintenance."),
}
_SERVER_ERROR = (500, 10016, "Server error.")
_MISSING_HEADERS = (401, 10003, "API key is invalid.")


def error_fields(error: RequestRejectedError) -> tuple[int, int, str]:
    """Return HTTP status, code and text."""
    if isinstance(error, CodedError):
        return error.status, error.code, error.detail
    if error.reason == "unknown_key" and error.detail == "missing":
        return _MISSING_HEADERS
    status, code, text = _WORDS.get(error.reason, _SERVER_ERROR)
    return status, code, text.format(detail=error.detail)


def envelope(result: object, now: int, code: int = 0, text: str = "OK") -> dict[str, object]:
    """Return an answer's body; `now` in microseconds."""
    return {"retCode": code, "retMsg": text, "result": result, "retExtInfo": {}, "time": now // 1_000}
