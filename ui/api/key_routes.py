"""Who may use the service, for operators: keys, browsers that are signed in, tokens that were seen. Only
`arbitrage keys` adds and revokes keys; a sign-in can be ended here."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from typing_extensions import TypedDict

from ui.auth.access_service import Access
from ui.auth.api_keys import known_keys
from ui.auth.key_store import StoredKey
from ui.auth.started_sign_ins import StartedSignIn
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Operator, ReadingOperator, access_of
from ui.rows.attribute import row_from
from ui.services.change_audit import auditing
from ui.services.dashboard import dashboard_of

router = APIRouter(tags=["access"])


class KeyRow(TypedDict):
    """`created_at` in microseconds UTC. Neither a key nor its hash is ever shown."""

    name: str
    role: str
    created_at: int


class KeyUseRow(KeyRow):
    """`seen_at`: when a program last used it, since the dashboard started, and from where; null if none did."""

    seen_at: int | None
    address: str


class SignInRow(TypedDict):
    """A browser that is signed in with the key `name`. Times in microseconds UTC; `seen_at` null if it asked for
    nothing since the dashboard started. `browser` as it says of itself; `is_yours`: it asks now."""

    sign_in_id: str
    name: str
    role: str
    began_at: int
    ends_at: int
    seen_at: int | None
    address: str
    browser: str
    is_yours: bool


class TokenRow(TypedDict):
    """A subject of the OIDC issuer that was seen since the dashboard started."""

    name: str
    role: str
    seen_at: int
    address: str


class PeopleRow(TypedDict):
    """`is_reading_open`: whoever reaches this address may read, without a key. `issuer`: of tokens, null if none is
    configured."""

    is_reading_open: bool
    issuer: str | None
    keys: list[KeyUseRow]
    sign_ins: list[SignInRow]
    tokens: list[TokenRow]


@router.get("/keys")
async def keys(request: Request, _: ReadingOperator) -> list[KeyRow]:
    """Return the keys: the owner's first, then by creation."""
    known = known_keys(access_of(request).home)
    return [row_from(KeyRow, key) for key in known]


@router.get("/people")
async def people(request: Request, caller: ReadingOperator) -> PeopleRow:
    """Return who may use the service and who does: keys with their last use, browsers that are signed in, and tokens
    that were seen."""
    access, oidc = access_of(request), dashboard_of(request.app).session.page.access.oidc
    current = await asyncio.to_thread(access.sign_ins.current)
    return PeopleRow(
        is_reading_open=access.is_reading_open,
        issuer=None if oidc is None else oidc.issuer,
        keys=[_key_row(access, key) for key in known_keys(access.home)],
        sign_ins=[_sign_in_row(access, one, caller.sign_in) for one in current],
        tokens=[row_from(TokenRow, one.caller, seen_at=one.at) for one in access.seen.of("token")],
    )


@router.delete("/sign-ins/{sign_in_id}", status_code=204, responses=dict.fromkeys((401, 404), PROBLEM_RESPONSE))
async def end_sign_in(request: Request, sign_in_id: Annotated[str, Path(max_length=100)], caller: Operator) -> Response:
    """Sign a browser out, for good: its next request counts as nobody's, and its live stream ends within seconds."""
    dashboard = dashboard_of(request.app)
    async with auditing(dashboard, caller, "sign_in.end", sign_in_id) as note:
        try:
            ended = await asyncio.to_thread(dashboard.access.sign_ins.end_by_id, sign_in_id)
        except KeyError:
            raise ProblemError(404, f"No browser is signed in by the id {sign_in_id[:40]!r}.") from None
        note.before = {"name": ended.name, "role": ended.role, "address": ended.address}
    return Response(status_code=204)


def _key_row(access: Access, key: StoredKey) -> KeyUseRow:
    seen = next(iter(access.seen.of("key", key.name)), None)
    at, address = (None, "") if seen is None else (seen.at, seen.caller.address)
    return row_from(KeyUseRow, key, seen_at=at, address=address)


def _sign_in_row(access: Access, started: StartedSignIn, own: str) -> SignInRow:
    seen = next(iter(access.seen.of("sign-in", sign_in=started.identity)), None)
    address = started.address if seen is None else seen.caller.address
    at = None if seen is None else seen.at
    return row_from(SignInRow, started, seen_at=at, address=address, is_yours=started.identity == own)
