"""OKX's rejections: a `code` and its words, those of an order as `sCode` in its row.

https://www.okx.com/docs-v5/en/#error-code, read in November 2026.
"""

from collections.abc import Mapping, Sequence

from simulators.matching.order_records import CodedError, Reason, RequestRejectedError

_WORDS: Mapping[Reason, tuple[int, str, str]] = {
    "signature": (401, "50113", "Invalid Sign"),
    "unknown_key": (401, "50111", "Invalid OK-ACCESS-KEY"),
    "passphrase": (401, "50105", "Request header OK-ACCESS-PASSPHRASE incorrect."),
    "clock": (401, "50102", "Timestamp request expired"),
    "rate_limited": (429, "50011", "Too Many Requests"),
    # no document has the words of the firewall
    "banned": (403, "403", "Forbidden"),
    "invalid_request": (400, "51000", "Parameter {detail} error"),
    "unknown_market": (200, "51001", "Instrument ID, Instrument ID code, or Spread ID doesn't exist."),
    "unknown_path": (404, "404", "Not Found"),
    "insufficient_funds": (200, "51008", "Order failed. Insufficient {detail} balance in account."),
    "amount_too_small": (200, "51020", "Your order should meet or exceed the minimum order amount."),
    "amount_invalid": (200, "51000", "Parameter sz error"),
    "price_invalid": (200, "51000", "Parameter px error"),
    "too_precise": (200, "51121", "Order quantity must be a multiple of the lot size."),
    "client_id_invalid": (200, "51000", "Parameter clOrdId error"),
    "client_id_used": (200, "51016", "Client order ID already exists."),
    "unknown_order": (200, "51603", "Order does not exist"),
    "order_ended": (200, "51603", "Order does not exist"),
    "order_rejected": (200, "51025", "Order count exceeds the limit."),
    "market_closed": (200, "51022", "Contract suspended."),
    "unavailable": (500, "50026", "System error. Try again later"),
    "maintenance": (503, "50001", "Service temporarily unavailable. Try again later."),
}
_SERVER_ERROR = (500, "50026", "System error. Try again later")
_OF_CANCELLATIONS: Mapping[Reason, tuple[str, str]] = dict.fromkeys(
    ("unknown_order", "order_ended"),
    ("51400", "Cancellation failed as the order has been filled, canceled or does not exist."),
)
_OF_AMENDMENTS: Mapping[Reason, tuple[str, str]] = dict.fromkeys(
    ("unknown_order", "order_ended"),
    ("51503", "Modification failed as the order has been filled, canceled or does not exist."),
)
WORDS_OF: Mapping[str, Mapping[Reason, tuple[str, str]]] = {"cancel": _OF_CANCELLATIONS, "amend": _OF_AMENDMENTS}
"""By what was to be done with an order: what is worded otherwise then."""


def error_fields(error: RequestRejectedError) -> tuple[int, str, str]:
    """Return HTTP status, code and text."""
    if isinstance(error, CodedError):
        return error.status, error.code, error.detail
    status, code, text = _WORDS.get(error.reason, _SERVER_ERROR)
    return status, code, text.format(detail=error.detail)


def row_error(error: RequestRejectedError, doing: str = "place") -> dict[str, str]:
    """Return `sCode` and `sMsg` of a row about an order that was not placed, cancelled or amended."""
    _, code, text = error_fields(error)
    code, text = WORDS_OF.get(doing, {}).get(error.reason, (code, text))
    return {"sCode": code, "sMsg": text}


def envelope(rows: Sequence[Mapping[str, object] | list[str]], code: str = "0", text: str = "") -> dict[str, object]:
    """Return an answer's body: of rows about orders of which some failed, or all, it is that."""
    failed = sum(isinstance(row, Mapping) and row.get("sCode", "0") != "0" for row in rows)
    if failed:
        is_all = failed == len(rows)
        code, text = ("1", "All operations failed") if is_all else ("2", "Bulk operation partially succeeded.")
    return {"code": code, "data": list(rows), "msg": text}
