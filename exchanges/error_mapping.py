"""ccxt's exceptions turned into what to do next, minding where ccxt's own sorting misleads.

ccxt calls a plain HTTP 400, 403 or 404 "not available"; bitFlyer's every rejection and Kraken's bad signature are plain
`ExchangeError`s; Bitstamp's "Order not found" is one without its full stop; a clock that is off is one too, and so is
an answer that broke off. Hence the texts and the HTTP status below.
"""

import json
import re
import socket
from typing import Literal

import aiohttp
import ccxt

from exchanges.errors import (
    AccountRejectedError,
    ExchangeError,
    ExchangeUnavailableError,
    OrderRejectedError,
    OutcomeUnknownError,
)
from exchanges.exchange_credentials import Credentials

Fault = Literal["account", "clock", "rejected", "used", "not_found", "unavailable", "unknown"]

_CLOCK_TEXTS = (
    "timestamp expired",
    "timestamp is out of range",
    "x-auth-timestamp",
    "outside of the recvwindow",
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
)
# The exchange itself does not know, or asks to look it up.
_UNKNOWN_TEXTS = (
    "egeneral:internal error",
    "eservice:deadline elapsed",
    "eservice:timeout",
    '"500.002"',
    "execution status unknown",
)
_NOT_FOUND_TEXTS = ("order not found", '"notfound"', "eorder:unknown order")

_BY_CLASS: tuple[tuple[tuple[type[Exception], ...], Fault], ...] = (
    ((ccxt.OrderNotFound,), "not_found"),
    ((ccxt.DuplicateOrderId,), "used"),
    ((ccxt.AuthenticationError, ccxt.RestrictedLocation), "account"),
    # Turned away at the door: the exchange never looked at the order.
    ((ccxt.DDoSProtection, ccxt.RateLimitExceeded, ccxt.OnMaintenance, ccxt.InvalidNonce), "rejected"),
    ((ccxt.RequestTimeout,), "unknown"),
)
# How ccxt words an HTTP error: "<id> <method> <url> <code> <reason> <body>".
_HTTP_CODE = re.compile(r"https?://\S+ (\d{3}) ")
_SIGNATURE = re.compile(r"(?i)(signature=)[^&\s]+")
_OK, _TIMEOUT, _REJECTIONS, _FAILURES = 200, 408, range(400, 500), range(500, 600)


def fault_of(error: ccxt.BaseError) -> Fault:
    """What became of a request that changes something.

    rejected: the exchange said no, nothing happened; clock: so, because of the time the request was signed with; used:
    it knows the client order id already; unknown: it may or may not have happened; unavailable: it was not reached at
    all.
    """
    text = str(error).lower()
    by_text = _fault_by_text(text)
    if by_text is not None:
        return by_text
    for classes, fault in _BY_CLASS:
        if isinstance(error, classes):
            return fault
    if isinstance(error, ccxt.BadResponse | ccxt.NullResponse | ccxt.NetworkError) or error.__cause__ is not None:
        return _fault_on_the_way(error, text)
    if isinstance(error, ccxt.ExchangeError):
        return _fault_in_words(error, text)
    return "unknown"


def post_error(exchange: str, error: ccxt.BaseError, keys: Credentials | None = None) -> ExchangeError:
    """For an order that was being posted; nothing of `keys` stands in it."""
    fault, said = fault_of(error), _said(error, keys)
    if fault == "account":
        return AccountRejectedError(f"{exchange} rejects the account: {said}")
    if fault == "used":
        # An order with this id exists, so "there is no order" would be a lie.
        return OutcomeUnknownError(f"{exchange} knows an order with this client id: {said}")
    if fault in ("rejected", "clock", "not_found", "unavailable"):
        return OrderRejectedError(f"{exchange} did not take the order: {said}")
    return OutcomeUnknownError(f"{exchange} may or may not have the order: {said}")


def read_error(exchange: str, error: ccxt.BaseError, keys: Credentials | None = None) -> ExchangeError:
    """For a request that changes nothing; nothing of `keys` stands in it."""
    if fault_of(error) == "account":
        return AccountRejectedError(f"{exchange} rejects the account: {_said(error, keys)}")
    return ExchangeUnavailableError(f"{exchange} did not answer: {_said(error, keys)}")


def _said(error: ccxt.BaseError, keys: Credentials | None) -> str:
    text = _SIGNATURE.sub(r"\1***", f"{type(error).__name__}: {error}")
    return text if keys is None else keys.hidden_in(text)


def is_not_found(error: ccxt.BaseError) -> bool:
    """The exchange itself says that it knows no such order."""
    return fault_of(error) == "not_found"


def is_clock_fault(error: ccxt.BaseError) -> bool:
    """The request was signed with a time that the exchange does not believe: measure its clock."""
    return fault_of(error) == "clock"


def _fault_by_text(text: str) -> Fault | None:
    texts: tuple[tuple[tuple[str, ...], Fault], ...] = (
        (_USED_TEXTS, "used"),
        (_NOT_FOUND_TEXTS, "not_found"),
        # Before the account: bitFlyer has one number for both.
        (_CLOCK_TEXTS, "clock"),
        (_ACCOUNT_TEXTS, "account"),
        (_UNKNOWN_TEXTS, "unknown"),
    )
    return next((fault for words, fault in texts if any(word in text for word in words)), None)


def _fault_on_the_way(error: ccxt.BaseError, text: str) -> Fault:
    """Of a request that got no answer, or none that can be read."""
    code = _http_code(error, text)
    if code is not None:
        return "rejected" if code in _REJECTIONS and code != _TIMEOUT else "unknown"
    # No connection came about, so not a byte was sent.
    never_sent = isinstance(error.__cause__, (aiohttp.ClientConnectorError, socket.gaierror))
    return "unavailable" if never_sent else "unknown"


def _fault_in_words(error: ccxt.BaseError, text: str) -> Fault:
    """Of an answer that ccxt has no class for: the exchange says no, unless its machinery failed or it says nothing."""
    code = _http_code(error, text)
    if code in _FAILURES or code == _TIMEOUT:
        return "unknown"
    return "unknown" if code == _OK and not _holds_a_document(str(error)) else "rejected"


def _http_code(error: ccxt.BaseError, text: str) -> int | None:
    noted = getattr(error, "http_code", None)
    if isinstance(noted, int):
        return noted
    found = _HTTP_CODE.search(text)
    return None if found is None else int(found[1])


def _holds_a_document(text: str) -> bool:
    """Whether the exchange's words are there whole: what broke off, or came from a proxy, is no rejection."""
    try:
        return isinstance(json.loads(text[text.index("{") :]), dict)
    except ValueError:
        return False
