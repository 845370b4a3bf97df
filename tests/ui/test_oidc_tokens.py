"""Tokens of an issuer that runs here: who bears a good one, and what is wrong with the others."""

from collections.abc import AsyncIterator

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from session.access_terms import OidcTerms
from tests.ui.issuer import AUDIENCE, Issuer, issuing
from ui.auth.callers import Role
from ui.auth.oidc_tokens import (
    LEEWAY_SECONDS,
    IssuerUnavailableError,
    TokenRejectedError,
    Tokens,
    looks_like_token,
    role_of,
)


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with issuing() as running:
        yield running


@pytest.mark.parametrize(("role", "ours"), [("trader", "operator"), ("desk", "viewer")])
async def test_a_good_token_says_who_and_what(issuer: Issuer, role: str, ours: Role) -> None:
    caller = await Tokens(issuer.terms).caller(issuer.token(role, preferred_username="erika"), "127.0.0.1")
    assert caller is not None
    assert (caller.name, caller.role, caller.means, caller.address) == ("oidc:erika", ours, "token", "127.0.0.1")
    assert caller.until is not None
    assert 60 <= caller.until / MICROSECONDS - wall_now() / MICROSECONDS + 5 <= 60 + LEEWAY_SECONDS + 5


async def test_a_token_without_a_role_of_ours_is_nobody(issuer: Issuer) -> None:
    assert await Tokens(issuer.terms).caller(issuer.token("guest")) is None


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": 1}, "it has expired"),
        ({"exp": None}, "a claim is missing"),
        ({"sub": None}, "a claim is missing"),
        ({"aud": "another"}, "wrong audience"),
        ({"aud": None}, "it is not valid|wrong audience|a claim is missing"),
        ({"iss": "https://evil.example"}, "wrong issuer"),
        ({"nbf": 9_999_999_999}, "it is not valid yet"),
    ],
)
async def test_claims_that_are_wrong_are_rejected(issuer: Issuer, claims: dict[str, object], why: str) -> None:
    with pytest.raises(TokenRejectedError, match=why):
        await Tokens(issuer.terms).caller(issuer.token(**claims))


async def test_a_token_signed_by_somebody_else_is_rejected(issuer: Issuer) -> None:
    tokens, claims = Tokens(issuer.terms), issuer.claims()
    stranger = ec.generate_private_key(ec.SECP256R1())
    for token in (
        jwt.encode(claims, stranger, "ES256", headers={"kid": issuer.kid}),
        jwt.encode(claims, stranger, "ES256", headers={"kid": "unknown"}),
        jwt.encode(claims, stranger, "ES256"),
        jwt.encode(claims, "a secret that is long enough to be taken as one", "HS256", headers={"kid": issuer.kid}),
        jwt.encode(claims, "", "none", headers={"kid": issuer.kid}),
        issuer.token()[:-6] + "AAAAAA",
        "a.b.c",
        "x" * 20_000,
    ):
        with pytest.raises(TokenRejectedError):
            await tokens.caller(token)


async def test_a_strangers_tokens_do_not_make_us_ask_without_end(issuer: Issuer) -> None:
    tokens = Tokens(issuer.terms)
    assert await tokens.caller(issuer.token()) is not None
    stranger = ec.generate_private_key(ec.SECP256R1())
    for number in range(20):
        with pytest.raises(TokenRejectedError, match="not one of the issuer's"):
            await tokens.caller(jwt.encode(issuer.claims(), stranger, "ES256", headers={"kid": f"kid {number}"}))
    assert issuer.asked == 1


async def test_an_issuer_that_is_away_is_said_and_asked_again_later(issuer: Issuer) -> None:
    issuer.is_away = True
    with pytest.raises(IssuerUnavailableError):
        await Tokens(issuer.terms).caller(issuer.token())
    issuer.is_away = False
    assert await Tokens(issuer.terms).caller(issuer.token()) is not None


async def test_an_issuer_that_calls_itself_otherwise_is_not_believed(issuer: Issuer) -> None:
    issuer.calls_itself = "https://evil.example"
    with pytest.raises(IssuerUnavailableError):
        await Tokens(issuer.terms).caller(issuer.token())


@pytest.mark.parametrize(
    ("claims", "role"),
    [
        ({"roles": ["viewer"]}, "viewer"),
        ({"roles": ["viewer", "operator"]}, "operator"),
        ({"roles": "profile viewer"}, "viewer"),
        ({"roles": "operators"}, None),
        ({"roles": {"operator": True}}, None),
        ({"roles": [["operator"]]}, None),
        ({}, None),
    ],
)
def test_the_claim_may_have_many_forms(claims: dict[str, object], role: Role | None) -> None:
    assert role_of(OidcTerms("https://login.example", AUDIENCE), claims) == role


def test_our_own_keys_are_no_tokens() -> None:
    assert looks_like_token("a.b.c")
    assert not looks_like_token("Zk3-_x")
