"""ccxt's exceptions turned into what to do next, minding where ccxt's own sorting misleads.

ccxt calls a plain HTTP 400, 403 or 404 "not available"; bitFlyer's every refusal and Kraken's bad signature are plain
`ExchangeError`s; Bitstamp's "Order not found" is one without its full stop. Hence the texts below.
"""

import re
import socket
from typing import Literal

import aiohttp
import ccxt

from exchanges.errors import (
    AccountRefusedError,
    ExchangeError,
    ExchangeUnavailableError,
    OrderRefusedError,
    OutcomeUnknownError,
)

Fault = Literal["account", "refused", "used", "not_found", "unavailable", "unknown"]

_ACCOUNT_TEXTS = (
    '"status":-500',  # bitFlyer: key not found, invalid signature
    "invalid signature",
    "key not found",
    "timestamp expired",
    "timestamp is out of range",
    "x-auth-timestamp",
)
_USED_TEXTS = ("duplicate client_oid", "client_order_id already exists", "cl_ord_id already in use")
_NOT_FOUND_TEXTS = ("order not found", '"notfound"', "eorder:unknown order")

_BY_CLASS: tuple[tuple[tuple[type[Exception], ...], Fault], ...] = (
    ((ccxt.OrderNotFound,), "not_found"),
    ((ccxt.DuplicateOrderId,), "used"),
    ((ccxt.AuthenticationError, ccxt.RestrictedLocation), "account"),
    # Turned away at the door: the exchange never looked at the order.
    ((ccxt.DDoSProtection, ccxt.RateLimitExceeded, ccxt.OnMaintenance, ccxt.InvalidNonce), "refused"),
    ((ccxt.RequestTimeout,), "unknown"),
    ((ccxt.BadResponse, ccxt.NullResponse), "unknown"),
)
# How ccxt words an HTTP error: "<id> <method> <url> <code> <reason> <body>".
_HTTP_CODE = re.compile(r"https?://\S+ (\d{3}) ")


def fault_of(error: ccxt.BaseError) -> Fault:
    """What became of a request that changes something.

    refused: the exchange said no, nothing happened; used: it knows the client order id already; unknown: it may or may
    not have happened; unavailable: it was not reached at all.
    """
    text = str(error).lower()
    by_text = _fault_by_text(text)
    if by_text is not None:
        return by_text
    for classes, fault in _BY_CLASS:
        if isinstance(error, classes):
            return fault
    if isinstance(error, ccxt.NetworkError):
        return _network_fault(error, text)
    if isinstance(error, ccxt.ExchangeError):
        return "refused"
    return "unknown"


def post_error(exchange: str, error: ccxt.BaseError) -> ExchangeError:
    """For an order that was being posted."""
    fault = fault_of(error)
    if fault == "account":
        return AccountRefusedError(f"{exchange} refuses the account: {error}")
    if fault == "used":
        # An order with this id exists, so "there is no order" would be a lie.
        return OutcomeUnknownError(f"{exchange} knows an order with this client id: {error}")
    if fault in ("refused", "not_found", "unavailable"):
        return OrderRefusedError(f"{exchange} did not take the order: {error}")
    return OutcomeUnknownError(f"{exchange} may or may not have the order: {error}")


def read_error(exchange: str, error: ccxt.BaseError) -> ExchangeError:
    """For a request that changes nothing."""
    if fault_of(error) == "account":
        return AccountRefusedError(f"{exchange} refuses the account: {error}")
    return ExchangeUnavailableError(f"{exchange} did not answer: {error}")


def is_not_found(error: ccxt.BaseError) -> bool:
    """The exchange itself says that it knows no such order."""
    return fault_of(error) == "not_found"


def _fault_by_text(text: str) -> Fault | None:
    texts: tuple[tuple[tuple[str, ...], Fault], ...] = (
        (_USED_TEXTS, "used"),
        (_NOT_FOUND_TEXTS, "not_found"),
        (_ACCOUNT_TEXTS, "account"),
    )
    return next((fault for words, fault in texts if any(word in text for word in words)), None)


def _network_fault(error: ccxt.BaseError, text: str) -> Fault:
    code = _HTTP_CODE.search(text)
    if code is not None:
        return "refused" if code[1].startswith("4") and code[1] != "408" else "unknown"
    # No connection came about, so not a byte was sent.
    never_sent = isinstance(error.__cause__, (aiohttp.ClientConnectorError, socket.gaierror))
    return "unavailable" if never_sent else "unknown"
