"""Tokens of an OpenID Connect issuer: their bearer and role.

PyJWT checks signatures and claims. The issuer's keys are fetched when first needed and when a token names an unknown
key, at most once in half a minute, so that strangers' tokens do not cause endless requests.
"""

import logging
from collections.abc import Mapping

import aiohttp
import jwt
from pydantic import BaseModel

from market.time_units import MICROSECONDS
from runtime.clock import steady_now
from session.access_terms import OidcTerms
from ui.auth.callers import Caller, Role

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Key pairs only: with a shared secret, whoever checks a token could forge one."""
LEEWAY_SECONDS = 30
FETCH_AGAIN_SECONDS = 30
KEYS_LAST_SECONDS = 3_600
ANSWER_SECONDS = 5.0
MAX_BYTES = 1_000_000
LONGEST_TOKEN = 16_000
LONGEST_NAME = 100

log = logging.getLogger("ui")


class TokenRejectedError(Exception):
    """The token is not valid here; the message says why, and nothing of the token."""


class IssuerUnavailableError(Exception):
    """The issuer did not send its keys; the same token may be accepted in a moment."""


class _Discovery(BaseModel):
    issuer: str
    jwks_uri: str


class Tokens:
    """The tokens of one issuer."""

    def __init__(self, terms: OidcTerms) -> None:
        self._terms = terms
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at: int | None = None
        self._asked_at: int | None = None

    async def caller(self, token: str, address: str = "") -> Caller | None:
        """Return the token's bearer; None if it gives no role. Raises TokenRejectedError, IssuerUnavailableError."""
        key = await self._key_of(token)
        try:
            claims: dict[str, object] = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                issuer=self._terms.issuer,
                audience=self._terms.audience,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.InvalidTokenError as error:
            raise TokenRejectedError(_words(error)) from None
        role = role_of(self._terms, claims)
        name = str(claims.get("preferred_username") or claims["sub"])[:LONGEST_NAME]
        # PyJWT has checked it: a number, and not expired
        until = int(float(str(claims["exp"])) + LEEWAY_SECONDS) * MICROSECONDS
        return None if role is None else Caller(f"oidc:{name}", role, "token", address, until=until)

    async def _key_of(self, token: str) -> jwt.PyJWK:
        try:
            header = jwt.get_unverified_header(token) if len(token) <= LONGEST_TOKEN else {}
        except jwt.InvalidTokenError:
            header = {}
        name = header.get("kid")
        if not isinstance(name, str) or header.get("alg") not in ALGORITHMS:
            raise TokenRejectedError("it is not a signed token with a key id")
        if name not in self._keys or self._is_old(self._fetched_at, KEYS_LAST_SECONDS):
            await self._fetch()
        if name not in self._keys:
            raise TokenRejectedError("its key is not one of the issuer's")
        return self._keys[name]

    async def _fetch(self) -> None:
        """Fetch the issuer's keys. Old keys stay valid while the issuer is down. Raises IssuerUnavailableError if there
        are none."""
        if not self._is_old(self._asked_at, FETCH_AGAIN_SECONDS):
            return
        self._asked_at = steady_now()
        try:
            self._keys = await self._keys_there()
            self._fetched_at = steady_now()
        except (aiohttp.ClientError, TimeoutError, ValueError, jwt.PyJWTError) as error:
            log.warning("issuer's keys not read", extra={"issuer": self._terms.issuer, "reason": str(error)})
            if not self._keys:
                raise IssuerUnavailableError("The token issuer does not answer.") from None

    async def _keys_there(self) -> dict[str, jwt.PyJWK]:
        limit = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        # no redirects: only the configured issuer counts
        async with aiohttp.ClientSession(timeout=limit, raise_for_status=True) as client:
            place = f"{self._terms.issuer.rstrip('/')}/.well-known/openid-configuration"
            found = _Discovery.model_validate_json(await _body(client, place))
            if found.issuer != self._terms.issuer:
                raise ValueError("the issuer's name does not match")
            keys = jwt.PyJWKSet.from_json((await _body(client, found.jwks_uri)).decode())
        return {key.key_id: key for key in keys.keys if key.key_id and key.algorithm_name in ALGORITHMS}

    def _is_old(self, at: int | None, seconds: int) -> bool:
        return at is None or steady_now() - at > seconds * MICROSECONDS


def role_of(terms: OidcTerms, claims: Mapping[str, object]) -> Role | None:
    """Return the highest role that the claim gives; the claim is a word, words with spaces, or a list."""
    value: object = claims
    for name in terms.role_claim.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    named = set(value.split()) if isinstance(value, str) else set()
    if isinstance(value, list):
        named = {word for word in value if isinstance(word, str)}
    if named & set(terms.operators):
        return "operator"
    if named & set(terms.authors):
        return "author"
    return "viewer" if named & set(terms.viewers) else None


def looks_like_token(given: str) -> bool:
    """Return whether it has three parts with dots between them; our keys have no dots."""
    return given.count(".") == 2


async def _body(client: aiohttp.ClientSession, place: str) -> bytes:
    async with client.get(place, allow_redirects=False) as answer:
        body = await answer.content.read(MAX_BYTES)
        if answer.status != 200:
            raise ValueError(f"answered {answer.status}")
        return body


def _words(error: jwt.InvalidTokenError) -> str:
    known = {
        jwt.ExpiredSignatureError: "it has expired",
        jwt.InvalidAudienceError: "wrong audience",
        jwt.InvalidIssuerError: "wrong issuer",
        jwt.ImmatureSignatureError: "it is not valid yet",
        jwt.MissingRequiredClaimError: "a claim is missing",
        jwt.InvalidSignatureError: "its signature is wrong",
    }
    return next((words for kind, words in known.items() if isinstance(error, kind)), "it is not valid")
