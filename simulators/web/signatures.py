"""Each exchange's check of the test account's signatures. All raise RequestRejectedError."""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import orjson

from exchanges.credentials import Credentials
from market.money import decimal_of
from market.time_units import MICROSECONDS
from simulators.matching.order_records import RequestRejectedError

# How far a request's own time may be from the exchange's, seconds.
_COINBASEEXCHANGE_SKEW = 30
_BITSTAMP_SKEW = 150
_FEWEST_NONCES = 1_000
"""Nonces that are kept before old ones are looked for."""
BITFLYER_SKEW = 60
_SECONDS = re.compile(r"[0-9]{1,30}(\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """The signed path: as sent, without the prefix of the simulated exchange."""

    method: str
    url: str
    path: str
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True, slots=True)
class CoinbaseExchangeSignature:
    """A signature in REST headers, or in the fields of a WebSocket subscribe, which signs GET /users/self/verify."""

    key: str
    passphrase: str
    timestamp: str
    signature: str

    @classmethod
    def of_headers(cls, headers: Mapping[str, str]) -> "CoinbaseExchangeSignature":
        return cls(*(headers.get(f"CB-ACCESS-{name}", "") for name in ("KEY", "PASSPHRASE", "TIMESTAMP", "SIGN")))

    @classmethod
    def of_fields(cls, fields: Mapping[str, object]) -> "CoinbaseExchangeSignature":
        return cls(*(str(fields.get(name, "")) for name in ("key", "passphrase", "timestamp", "signature")))

    def check(self, credentials: Credentials, now: int, signed: str) -> None:
        if self.key != credentials.api_key:
            raise RequestRejectedError("unknown_key")
        _check_time(self.timestamp, MICROSECONDS, now, _COINBASEEXCHANGE_SKEW, decimals=True)
        compare(base64_signature(base64.b64decode(credentials.secret), f"{self.timestamp}{signed}"), self.signature)
        if self.passphrase != credentials.password:
            raise RequestRejectedError("passphrase")


class BitstampNonces:
    """Bitstamp's nonces: each is good once, while its timestamp is valid."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}
        self._most = _FEWEST_NONCES

    def check(self, request: SignedRequest, credentials: Credentials, now: int) -> None:
        headers = request.headers
        if headers.get("X-Auth", "") != f"BITSTAMP {credentials.api_key}":
            raise RequestRejectedError("unknown_key")
        nonce, timestamp = headers.get("X-Auth-Nonce", ""), headers.get("X-Auth-Timestamp", "")
        _check_time(timestamp, 1_000, now, _BITSTAMP_SKEW)
        tail = f"{headers.get('Content-Type', '')}{nonce}{timestamp}{headers.get('X-Auth-Version', '')}{request.body}"
        # ccxt cuts "https://" off what it signs; over http the scheme stays in.
        hosts = (request.url, request.url.split("://", 1)[1])
        texts = [f"{headers['X-Auth']}{request.method}{url}{tail}" for url in hosts]
        # hex digits, and clients send them in either case
        signature = sent_bytes(headers.get("X-Auth-Signature", "").lower())
        if not any(hmac.compare_digest(hex_signature(credentials, text), signature) for text in texts):
            raise RequestRejectedError("signature")
        self._use(nonce, now)

    def _use(self, nonce: str, now: int) -> None:
        if nonce in self._used:
            raise RequestRejectedError("nonce")
        self._used[nonce] = now
        if len(self._used) > self._most:
            oldest = now - 2 * _BITSTAMP_SKEW * MICROSECONDS
            self._used = {used: when for used, when in self._used.items() if when >= oldest}
            # so that each one is looked at only a few times
            self._most = max(_FEWEST_NONCES, 2 * len(self._used))


def check_bitflyer(request: SignedRequest, credentials: Credentials, now: int) -> None:
    headers = request.headers
    if headers.get("ACCESS-KEY", "") != credentials.api_key:
        raise RequestRejectedError("unknown_key")
    timestamp = headers.get("ACCESS-TIMESTAMP", "")
    # Seconds and milliseconds are both taken.
    micros_per_unit = MICROSECONDS if len(timestamp.partition(".")[0]) <= 11 else 1_000
    _check_time(timestamp, micros_per_unit, now, BITFLYER_SKEW, decimals=True)
    signed = f"{timestamp}{request.method}{request.path}{request.body}"
    compare(hex_signature(credentials, signed), headers.get("ACCESS-SIGN", ""))


def check_kraken(request: SignedRequest, credentials: Credentials, last_nonce: int) -> int:
    """Check a signature. Returns the nonce, which must be above the last one."""
    if request.headers.get("API-Key", "") != credentials.api_key:
        raise RequestRejectedError("unknown_key")
    nonce = str(kraken_fields(request.body).get("nonce", ""))
    digest = hashlib.sha256(f"{nonce}{request.body}".encode()).digest()
    secret = base64.b64decode(credentials.secret)
    expected = base64.b64encode(hmac.digest(secret, sent_bytes(request.path) + digest, hashlib.sha512))
    compare(expected, request.headers.get("API-Sign", ""))
    if not is_count(nonce) or int(nonce) <= last_nonce:
        raise RequestRejectedError("nonce")
    return int(nonce)


def kraken_fields(body: str) -> dict[str, Any]:
    """Return the fields of a form, or of a JSON object. Raises RequestRejectedError."""
    if not body.startswith("{"):
        return dict(parse_qsl(body))
    try:
        fields: dict[str, Any] = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestRejectedError("invalid_request") from error
    return fields


def hex_signature(credentials: Credentials, signed: str) -> bytes:
    """Return the HMAC-SHA256 of a text in hex digits, as three of the exchanges sign."""
    return hmac.digest(credentials.secret.encode(), sent_bytes(signed), hashlib.sha256).hex().encode()


def base64_signature(secret: bytes, signed: str) -> bytes:
    """Return the HMAC-SHA256 of a text in base64, as two of the exchanges sign."""
    return base64.b64encode(hmac.digest(secret, sent_bytes(signed), hashlib.sha256))


def _check_time(timestamp: str, micros_per_unit: int, now: int, longest_skew: int, *, decimals: bool = False) -> None:
    """Check the request's time; `decimals`: whether the exchange takes fractions of its unit."""
    is_known = _SECONDS.fullmatch(timestamp) if decimals else is_count(timestamp)
    if not is_known or abs(int(decimal_of(timestamp) * micros_per_unit) - now) > longest_skew * MICROSECONDS:
        raise RequestRejectedError("clock")


def compare(expected: bytes, signature: str) -> None:
    """Raise RequestRejectedError unless a signature is the one that was expected."""
    if not hmac.compare_digest(expected, sent_bytes(signature)):
        raise RequestRejectedError("signature")


def sent_bytes(text: str) -> bytes:
    """Return the bytes that were read as `text`, whether they are UTF-8 or not."""
    return text.encode(errors="surrogateescape")


def is_count(text: str) -> bool:
    """Return whether it is digits that `int` reads: not every digit is one, and it takes no number of any length."""
    return text.isdecimal() and len(text) <= 30
