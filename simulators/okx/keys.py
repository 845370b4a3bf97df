"""OKX's signatures: HMAC-SHA256 in base64, of a request and of a connection.

https://www.okx.com/docs-v5/en/#overview-rest-authentication and #overview-websocket-login, read in November 2026
"""

import re
from collections.abc import Mapping
from datetime import datetime

from exchanges.credentials import Credentials
from market.time_units import MICROSECONDS
from simulators.matching.order_records import CodedError, RequestRejectedError
from simulators.web.signatures import SignedRequest, base64_signature, compare, is_count

_SECONDS = 30
"""How far a request's time may be from the exchange's."""
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z")
_HEADERS = ("KEY", "SIGN", "TIMESTAMP", "PASSPHRASE")
_MISSING = {"KEY": "50103", "PASSPHRASE": "50104", "SIGN": "50106", "TIMESTAMP": "50107"}


def check_request(request: SignedRequest, credentials: Credentials, now: int) -> None:
    """Check the signature over time, method, path as sent, and body. Raises RequestRejectedError."""
    given = {name: request.headers.get(f"OK-ACCESS-{name}", "") for name in _HEADERS}
    for name, value in given.items():
        if not value:
            raise CodedError(_MISSING[name], f"Request header OK-ACCESS-{name} cannot be empty.", 401)
    if given["KEY"] != credentials.api_key:
        raise RequestRejectedError("unknown_key")
    _check_time(_micros_of(given["TIMESTAMP"]), now)
    signed = f"{given['TIMESTAMP']}{request.method}{request.path}{request.body}"
    _check_secrets(credentials, signed, given["SIGN"], given["PASSPHRASE"])


def check_login(fields: Mapping[str, object], credentials: Credentials, now: int) -> None:
    """Check a connection's key, passphrase, time in seconds and signature. Raises RequestRejectedError."""
    if fields.get("apiKey") != credentials.api_key:
        raise RequestRejectedError("unknown_key")
    timestamp = str(fields.get("timestamp", ""))
    if not is_count(timestamp):
        raise RequestRejectedError("clock")
    _check_time(int(timestamp) * MICROSECONDS, now)
    signed = f"{timestamp}GET/users/self/verify"
    _check_secrets(credentials, signed, str(fields.get("sign", "")), str(fields.get("passphrase", "")))


def _micros_of(timestamp: str) -> int:
    try:
        if not _ISO.fullmatch(timestamp):
            raise ValueError
        return int(datetime.fromisoformat(timestamp).timestamp() * MICROSECONDS)
    except (ValueError, OverflowError) as error:
        raise CodedError("50112", "Invalid OK-ACCESS-TIMESTAMP", 401) from error


def _check_time(then: int, now: int) -> None:
    if abs(then - now) > _SECONDS * MICROSECONDS:
        raise RequestRejectedError("clock")


def _check_secrets(credentials: Credentials, signed: str, signature: str, passphrase: str) -> None:
    compare(base64_signature(credentials.secret.encode(), signed), signature)
    if passphrase != credentials.password:
        raise RequestRejectedError("passphrase")
