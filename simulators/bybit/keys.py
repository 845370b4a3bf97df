"""Bybit's signatures: HMAC-SHA256 in hex digits, of a request and of a connection.

https://bybit-exchange.github.io/docs/v5/guide and /v5/ws/connect, read in November 2026
"""

from collections.abc import Sequence

from exchanges.credentials import Credentials
from simulators.matching.order_records import RequestRejectedError
from simulators.web.signatures import SignedRequest, compare, hex_signature, is_count

_WINDOW_MS = "5000"
_AHEAD_MS = 1_000


def check_request(request: SignedRequest, credentials: Credentials, now: int) -> None:
    """Check the signature over time, key, window and the query as sent, or the body. Raises RequestRejectedError."""
    key, timestamp, signature, window = (
        request.headers.get(f"X-BAPI-{name}", "") for name in ("API-KEY", "TIMESTAMP", "SIGN", "RECV-WINDOW")
    )
    if not (key and timestamp and signature):
        raise RequestRejectedError("unknown_key", "missing")
    if key != credentials.api_key:
        raise RequestRejectedError("unknown_key")
    check_time(timestamp, window or _WINDOW_MS, now // 1_000)
    payload = request.body if request.method == "POST" else request.path.partition("?")[2]
    # hex digits, in either case
    compare(hex_signature(credentials, f"{timestamp}{key}{window}{payload}"), signature.lower())


def check_connection(arguments: Sequence[object], credentials: Credentials, now: int) -> None:
    """Check `[key, when it expires in milliseconds, signature]`. Raises RequestRejectedError."""
    if len(arguments) != 3:
        raise RequestRejectedError("unknown_key")
    key, expires, signature = map(str, arguments)
    if key != credentials.api_key:
        raise RequestRejectedError("unknown_key")
    if not is_count(expires) or int(expires) <= now // 1_000:
        raise RequestRejectedError("clock")
    compare(hex_signature(credentials, f"GET/realtime{expires}"), signature.lower())


def check_time(timestamp: str, window: str, now_ms: int) -> None:
    """Raise RequestRejectedError for a time, in milliseconds, that is not within the window."""
    if not is_count(timestamp) or not is_count(window):
        raise RequestRejectedError("clock")
    if not now_ms - int(window) <= int(timestamp) < now_ms + _AHEAD_MS:
        raise RequestRejectedError("clock")
