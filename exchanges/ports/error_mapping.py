"""Maps ccxt's exceptions to our errors, also if ccxt's own classes are wrong.

ccxt calls a plain HTTP 400, 403 or 404 "not available"; bitFlyer's every rejection and Kraken's bad signature are plain
`ExchangeError`s; Bitstamp's "Order not found" is one without its full stop; so are a clock that is off
and a truncated answer. Hence the texts and the HTTP status below.
"""

import json
import re
import socket
from collections.abc import Mapping, Sequence
from typing import Literal

import aiohttp
import ccxt

from exchanges.credentials import Credentials
from exchanges.errors import (
    AccountRejectedError,
    ExchangeError,
    ExchangeUnavailableError,
    OrderRejectedError,
    OutcomeUnknownError,
)

Fault = Literal["account", "clock", "rejected", "used", "not_found", "unavailable", "unknown"]

_CLOCK_TEXTS = (
    "timestamp expired",
    "timestamp is out of range",
    "x-auth-timestamp",
    "outside of the recvwindow",
    "egeneral:invalid arguments:deadline",
    "ahead of the server",
    '"code":-1021',
)
_ACCOUNT_TEXTS = (
    '"status":-500',  # bitFlyer: key not found, invalid signature
    "invalid signature",
    "key not found",
    "invalid username and/or password",  # Bitstamp, of keys too
    "api access disabled",
)
_USED_TEXTS = (
    "duplicate client_oid",
    "client_order_id already exists",
    "cl_ord_id already in use",
    "duplicate order sent",
    "withdraw order id is used",
)
_PAST_DEADLINE = "eservice:deadline elapsed"
# The exchange itself does not know the outcome.
_UNKNOWN_TEXTS = (
    "egeneral:internal error",
    _PAST_DEADLINE,
    "eservice:timeout",
    '"500.002"',
    "execution status unknown",
)
_NOT_FOUND_TEXTS = ("order not found", '"notfound"', "eorder:unknown order")
_UNAUTHORIZED_AT_COINBASE = re.compile(r"coinbase \S+ https?://\S+ 401 ")
"""All that it says of a wrong key, a wrong signature and a wrong time."""

Codes = Mapping[str, Fault]
"""What an answer has of a code → the fault."""


def _codes(form: str, codes: Mapping[Fault, Sequence[int]]) -> Codes:
    return {form.format(code): fault for fault, each in codes.items() for code in each}


# https://bybit-exchange.github.io/docs/v5/error: used ids of spot and of all markets; time-outs, errors of its servers
# and "submitted to the system", with HTTP 200, and ccxt takes most for rejections
_OF_BYBIT = _codes(
    '"retcode":{},',
    {
        "clock": (10002,),
        "used": (170141, 110072),
        "unknown": (10000, 10016, 170001, 170007, 170032, 170035, 170146, 170234),
    },
)
# https://www.okx.com/docs-v5/en/#error-code, of the answer or of an order's row: used ids of the client and of its own;
# time-outs and errors of its servers, some with HTTP 429, and ccxt does not know the last two
_OF_OKX = _codes(
    'code":"{}"', {"clock": (50102,), "used": (51016, 51011), "unknown": (50004, 50013, 50026, 51054, 51149)}
)
# https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/orders/create-order
_OF_COINBASE: Codes = {
    '"duplicate_client_order_id"': "used",
    "order with this orderid was not found": "not_found",
}
_UNSAID_AT_COINBASE = re.compile(
    r'"error_response":\s*\{\s*"error":\s*"unknown_failure_reason"(?!.*"preview_failure_reason":\s*"preview_)',
    re.DOTALL,
)
"""An order that was not made for no reason that it knows. It says the same word where a preview's failure is the
reason."""
_BY_CODE: Mapping[str, Codes] = {
    "coinbase": _OF_COINBASE,
    **dict.fromkeys(("bybit", "bybiteu", "bybitid"), _OF_BYBIT),
    **dict.fromkeys(("okx", "okxus", "myokx"), _OF_OKX),
}
"""By ccxt's name of the exchange: elsewhere the same number says something else."""

_BY_CLASS: tuple[tuple[tuple[type[Exception], ...], Fault], ...] = (
    ((ccxt.OrderNotFound,), "not_found"),
    ((ccxt.DuplicateOrderId,), "used"),
    ((ccxt.AuthenticationError, ccxt.RestrictedLocation), "account"),
    # Rejected before the exchange processed the order.
    ((ccxt.DDoSProtection, ccxt.RateLimitExceeded, ccxt.OnMaintenance, ccxt.InvalidNonce), "rejected"),
    ((ccxt.RequestTimeout,), "unknown"),
)
_CODE_IN_EACH = {"bybit": "retCode", "okx": "code", "coinbase": "success"}
# ccxt's text of an HTTP error: "<id> <method> <url> <code> <reason> <body>".
_HTTP_CODE = re.compile(r"https?://\S+ (\d{3}) ")
_SIGNATURE = re.compile(r"(?i)(signature=)[^&\s]+")
_OK, _TIMEOUT, _REJECTIONS, _FAILURES = 200, 408, range(400, 500), range(500, 600)


def fault_of(error: ccxt.BaseError) -> Fault:
    """Outcome of a failed request that changes something.

    rejected: nothing happened; clock: rejected because of the request's timestamp; used: the client's id of it
    exists already; unknown: it may or may not have happened; unavailable: the request was not sent.
    """
    text = str(error).lower()
    said = _fault_by_code(text) or _fault_by_text(text)
    if said is not None:
        return said
    for classes, fault in _BY_CLASS:
        if isinstance(error, classes):
            return fault
    if isinstance(error, ccxt.BadResponse | ccxt.NullResponse | ccxt.NetworkError) or error.__cause__ is not None:
        return _transport_fault(error, text)
    if isinstance(error, ccxt.ExchangeError):
        return _rejection_fault(error, text)
    return "unknown"


def post_error(
    exchange: str,
    error: ccxt.BaseError,
    keys: Credentials | None = None,
    *,
    is_of_the_clock: bool = False,
    posted: Literal["order", "withdrawal"] = "order",
) -> ExchangeError:
    """Return the error of posting; its text contains nothing of `keys`. `is_of_the_clock`: the exchange's clock was
    wrong here."""
    fault, text = fault_of(error), _error_text(error, keys)
    if fault == "account" and not is_of_the_clock:
        return AccountRejectedError(f"{exchange} rejected the account: {text}")
    if fault == "used":
        # one with this id exists, so it must not be reported as rejected
        return OutcomeUnknownError(f"{exchange} already knows the id of this {posted}: {text}")
    if fault in ("account", "rejected", "clock", "not_found", "unavailable"):
        return OrderRejectedError(f"{exchange} rejected the {posted}: {text}")
    return OutcomeUnknownError(f"{exchange} may or may not have the {posted}: {text}")


def read_error(exchange: str, error: ccxt.BaseError, keys: Credentials | None = None) -> ExchangeError:
    """Return the error of a read request; its text contains nothing of `keys`."""
    if fault_of(error) == "account":
        return AccountRejectedError(f"{exchange} rejected the account: {_error_text(error, keys)}")
    return ExchangeUnavailableError(f"{exchange} did not answer: {_error_text(error, keys)}")


def _error_text(error: ccxt.BaseError, keys: Credentials | None) -> str:
    text = _SIGNATURE.sub(r"\1***", f"{type(error).__name__}: {error}")
    return text if keys is None else keys.hidden_in(text)


def is_not_found(error: ccxt.BaseError) -> bool:
    """Whether the exchange reports that there is no such order."""
    return fault_of(error) == "not_found"


def is_clock_fault(error: ccxt.BaseError) -> bool:
    """Whether the exchange rejected the request's timestamp, or may have: measure its clock."""
    return fault_of(error) == "clock" or _UNAUTHORIZED_AT_COINBASE.match(str(error)) is not None


def is_past_deadline(error: ccxt.BaseError) -> bool:
    """Whether the order arrived after its deadline, or the exchange's clock is not as it was measured."""
    return _PAST_DEADLINE in str(error).lower()


def _fault_by_code(text: str) -> Fault | None:
    exchange, _, answer = text.partition(" ")
    if exchange == "coinbase" and _UNSAID_AT_COINBASE.search(answer):
        return "unknown"
    return next((fault for code, fault in _BY_CODE.get(exchange, {}).items() if code in answer), None)


def _fault_by_text(text: str) -> Fault | None:
    texts: tuple[tuple[tuple[str, ...], Fault], ...] = (
        (_USED_TEXTS, "used"),
        (_NOT_FOUND_TEXTS, "not_found"),
        # Before the account: bitFlyer uses one code for both.
        (_CLOCK_TEXTS, "clock"),
        (_ACCOUNT_TEXTS, "account"),
        (_UNKNOWN_TEXTS, "unknown"),
    )
    return next((fault for words, fault in texts if any(word in text for word in words)), None)


def _transport_fault(error: ccxt.BaseError, text: str) -> Fault:
    """Return the fault of a request without a readable answer."""
    code = _http_code(error, text)
    if code is not None:
        return "rejected" if code in _REJECTIONS and code != _TIMEOUT else "unknown"
    # There was no connection, so nothing was sent.
    never_sent = isinstance(error.__cause__, (aiohttp.ClientConnectorError, socket.gaierror))
    return "unavailable" if never_sent else "unknown"


def _rejection_fault(error: ccxt.BaseError, text: str) -> Fault:
    """Return the fault of an answer without a ccxt class of its own: rejected, unless the server failed or gave no
    reason."""
    code = _http_code(error, text)
    if code in _FAILURES or code == _TIMEOUT:
        return "unknown"
    return "unknown" if code == _OK and not _is_their_answer(str(error)) else "rejected"


def _http_code(error: ccxt.BaseError, text: str) -> int | None:
    code = getattr(error, "http_code", None)
    if isinstance(code, int):
        return code
    found = _HTTP_CODE.search(text)
    return None if found is None else int(found[1])


def _is_their_answer(text: str) -> bool:
    """Whether the text contains a complete JSON object, with the exchange's code if each of its answers has one: a
    truncated answer, or one of a proxy, is not a rejection."""
    exchange, _, _ = text.partition(" ")
    try:
        answer = json.loads(text[text.index("{") :])
    except ValueError:
        return False
    return isinstance(answer, dict) and _CODE_IN_EACH.get(exchange) in (None, *answer)
