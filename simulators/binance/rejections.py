"""Binance's rejections: always {code, msg}, over REST and its WebSocket API."""

from collections.abc import Mapping

from simulators.matching.order_records import Reason, RequestRejectedError

_WORDS: dict[Reason, tuple[int, int, str]] = {
    "signature": (400, -1022, "Signature for this request is not valid."),
    "insufficient_funds": (400, -2010, "Account has insufficient balance for requested action."),
    "amount_too_small": (400, -1013, "Filter failure: {detail}"),
    "amount_invalid": (400, -1013, "Invalid quantity."),
    "price_invalid": (400, -1013, "Invalid price."),
    "too_precise": (400, -1111, "Parameter '{detail}' has too much precision."),
    "client_id_used": (400, -2010, "Duplicate order sent."),
    "unknown_order": (400, -2013, "Order does not exist."),
    "order_ended": (400, -2011, "Unknown order sent."),
    "unknown_market": (400, -1121, "Invalid symbol."),
    "client_id_invalid": (
        400,
        -1100,
        "Illegal characters found in parameter '{detail}'; legal range is '^[\\.A-Z\\:/a-z0-9_-]{{1,36}}$'.",
    ),
    "invalid_request": (
        400,
        -1102,
        "Mandatory parameter '{detail}' was not sent, was empty/null, or malformed.",
    ),
    "rate_limited": (
        429,
        -1003,
        "Too much request weight used; current limit is 6000 request weight per 1 MINUTE. "
        "Please use WebSocket Streams for live updates to avoid polling the API.",
    ),
    "banned": (
        418,
        -1003,
        "Way too much request weight used; IP banned{detail}. "
        "Please use WebSocket Streams for live updates to avoid bans.",
    ),
    # the words that error code -1020 has in its documents; those of a missing path are not known
    "unknown_path": (404, -1020, "This operation is not supported."),
    "maintenance": (503, -1000, "System is under maintenance."),
    "unavailable": (500, -1000, "An unknown error occurred while processing the request."),
    "order_rejected": (400, -2010, "Market is closed."),
}
_KEYS = {
    "": (401, -2015, "Invalid API-key, IP, or permissions for action."),
    "missing": (401, -2014, "API-key format invalid."),
}
_CLOCKS = {
    "": (400, -1021, "Timestamp for this request is outside of the recvWindow."),
    "ahead": (400, -1021, "Timestamp for this request was 1000ms ahead of the server's time."),
    "window": (400, -1131, "recvWindow must be less than 60000."),
}


class MisusedError(RequestRejectedError):
    """A rejection with its own code."""

    def __init__(self, code: int, text: str, status: int = 400) -> None:
        super().__init__("invalid_request", text)
        self.code = code
        self.status = status


class ReplacementError(RequestRejectedError):
    """A replacement of which one half, or both, were rejected; `data` says which."""

    def __init__(self, data: Mapping[str, object], *, is_partial: bool) -> None:
        super().__init__("order_rejected", "replacement")
        self.data = data
        self.status, self.code, self.text = (
            (409, -2021, "Order cancel-replace partially failed.")
            if is_partial
            else (400, -2022, "Order cancel-replace failed.")
        )


def error_fields(error: RequestRejectedError) -> tuple[int, int, str]:
    """Return HTTP status, code and text."""
    if isinstance(error, MisusedError):
        return error.status, error.code, error.detail
    if isinstance(error, ReplacementError):
        return error.status, error.code, error.text
    if error.reason == "unknown_key":
        return _KEYS.get(error.detail, _KEYS[""])
    if error.reason == "clock":
        return _CLOCKS.get(error.detail, _CLOCKS[""])
    if error.reason == "rate_limited" and error.detail:
        return 429, -1015, f"Too many new orders; current limit is {error.detail}."
    status, code, text = _WORDS.get(
        error.reason, (400, -1000, "An unknown error occurred while processing the request.")
    )
    detail = f" until {error.detail}" if error.reason == "banned" and error.detail else error.detail
    return status, code, text.format(detail=detail)
