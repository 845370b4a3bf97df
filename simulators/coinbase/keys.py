"""Coinbase's keys: each request, and each subscription to the account's channel, brings a token signed by ES256.

https://docs.cdp.coinbase.com/coinbase-app/authentication-authorization/api-key-authentication, read in November 2026
"""

from functools import cache

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt.types import Options

from exchanges.credentials import Credentials
from market.time_units import MICROSECONDS
from simulators.matching.order_records import RequestRejectedError
from simulators.web.signatures import SignedRequest

_SECONDS = 120
"""How long a token is good at most."""
_SKEW = 30
"""How far ahead of the exchange's time it may begin to be good; no document says it."""
_ISSUERS = ("cdp", "coinbase-cloud")
_BEARER = "Bearer "
_HOST = "api.coinbase.com"
_OURS_TO_CHECK: Options = {"verify_exp": False, "verify_nbf": False, "verify_iat": False, "verify_aud": False}
"""Times go by the exchange's clock, which a fault may skew."""


def check_request(request: SignedRequest, credentials: Credentials, now: int) -> None:
    """Check the token, and that it is for this request. Raises RequestRejectedError."""
    claims = _claims(request.headers.get("Authorization", "").removeprefix(_BEARER), credentials, now)
    url, path = request.url.partition("?")[0], request.path.partition("?")[0]
    # ccxt cuts "https://" off what it signs, and over http the scheme stays in; others sign the exchange's own name
    # wherever it is
    if claims.get("uri") not in [f"{request.method} {one}" for one in (url, url.partition("://")[2], f"{_HOST}{path}")]:
        raise RequestRejectedError("signature")


def check_subscription(token: str, credentials: Credentials, now: int) -> None:
    """Check the token of a message, which is for no path. Raises RequestRejectedError."""
    _claims(token, credentials, now)


def _claims(token: str, credentials: Credentials, now: int) -> dict[str, object]:
    try:
        if jwt.get_unverified_header(token).get("kid") != credentials.api_key:
            raise RequestRejectedError("unknown_key")
        claims: dict[str, object] = jwt.decode(
            token, _public_key(credentials.secret), algorithms=["ES256"], options=_OURS_TO_CHECK
        )
    except jwt.InvalidTokenError as error:
        raise RequestRejectedError("signature") from error
    if claims.get("sub") != credentials.api_key or claims.get("iss") not in _ISSUERS:
        raise RequestRejectedError("signature")
    since, until, seconds = claims.get("nbf"), claims.get("exp"), now // MICROSECONDS
    if type(since) is not int or type(until) is not int or not 0 < until - since <= _SECONDS:
        raise RequestRejectedError("signature")
    if not since - _SKEW <= seconds <= until:
        raise RequestRejectedError("clock")
    return claims


@cache
def _public_key(pem: str) -> EllipticCurvePublicKey:
    private = load_pem_private_key(pem.encode(), None)
    if not isinstance(private, EllipticCurvePrivateKey):
        raise TypeError("the account's secret is no private key of an elliptic curve")
    return private.public_key()
