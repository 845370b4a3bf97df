"""Binance's API keys and signatures: HMAC, RSA and Ed25519.

https://developers.binance.com/docs/binance-spot-api-docs/rest-api/request-security, read in November 2026.
"""

import hmac
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from exchanges.credentials import Credentials
from market.money import decimal_of
from simulators.binance.signing_keys import KeyKind, VerifyingKey, verifying_key
from simulators.matching.order_records import RequestRejectedError
from simulators.web.signatures import SignedRequest, hex_signature, is_count, sent_bytes

_WINDOW_MS = "5000"
_LONGEST_WINDOW_MS = 60_000
_AHEAD_MICROS = 1_000_000
_FEWEST_MICROSECONDS = 10**14
"""A time since 1970 that is not smaller is in microseconds."""
_WINDOW = re.compile(r"[0-9]{1,8}(\.[0-9]{1,3})?")
_SIGNATURE = re.compile(r"&?signature=[^&]*")


class BinanceKeys:
    """The keys of one account."""

    def __init__(self, credentials: Credentials) -> None:
        def verifies(signed: str, signature: str) -> bool:
            # hex digits, in either case
            return hmac.compare_digest(hex_signature(credentials, signed), sent_bytes(signature.lower()))

        self._keys = {credentials.api_key: VerifyingKey("HMAC_SHA256", verifies)}

    def trust(self, keys: Credentials) -> None:
        """Take requests that are signed with a private key, whose PEM is the secret."""
        self._keys[keys.api_key] = verifying_key(keys.secret)

    def has(self, api_key: str) -> bool:
        return api_key in self._keys

    def kind_of(self, api_key: str) -> KeyKind:
        """Return the kind of an existing key."""
        return self._keys[api_key].kind

    def check_request(self, request: SignedRequest, now: int) -> None:
        """Check the signature over the query string and the body, joined without a separator and without the signature
        itself. Raises RequestRejectedError."""
        query = request.path.partition("?")[2]
        fields = dict(parse_qsl(query)) | dict(parse_qsl(request.body))
        signed = "".join(_SIGNATURE.sub("", text) for text in (query, request.body))
        self.check(request.headers.get("X-MBX-APIKEY", ""), fields, signed, now)

    def check(self, api_key: str, fields: Mapping[str, str], signed: str, now: int) -> None:
        """Check a request, or a call over the WebSocket API. Raises RequestRejectedError."""
        if api_key not in self._keys:
            raise RequestRejectedError("unknown_key", "" if api_key else "missing")
        check_time(fields, now)
        if not self._keys[api_key].verifies(signed, fields.get("signature", "")):
            raise RequestRejectedError("signature")


def check_time(fields: Mapping[str, str], now: int) -> None:
    """Check `timestamp` in milliseconds or microseconds and `recvWindow` in milliseconds. Raises
    RequestRejectedError."""
    timestamp, window = fields.get("timestamp", ""), fields.get("recvWindow", _WINDOW_MS)
    if not is_count(timestamp):
        raise RequestRejectedError("invalid_request", "timestamp")
    if not _WINDOW.fullmatch(window) or decimal_of(window) > _LONGEST_WINDOW_MS:
        raise RequestRejectedError("clock", "window")
    is_micros = int(timestamp) >= _FEWEST_MICROSECONDS
    late = now - int(timestamp) if is_micros else (now // 1_000 - int(timestamp)) * 1_000
    if late <= -_AHEAD_MICROS:
        raise RequestRejectedError("clock", "ahead")
    if late > decimal_of(window) * 1_000:
        raise RequestRejectedError("clock")
