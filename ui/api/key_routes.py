"""Who may use the service, for operators: keys, browsers that are signed in, tokens that were seen. Keys are made and
revoked here, too, and sign-ins ended."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from runtime.clock import wall_now
from ui.api.apps.app_requests import body_of, body_schema
from ui.auth.access_service import Access
from ui.auth.api_keys import digest_of, keys_folder, known_keys, new_key
from ui.auth.callers import Caller, Role
from ui.auth.key_store import KeyNameError, StoredKey, add_key, revoke_key
from ui.auth.started_sign_ins import StartedSignIn
from ui.errors import UiError
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.rejected_changes import record_rejection
from ui.http.route_auth import Operator, ReadingOperator, access_of
from ui.rows.attribute import row_from
from ui.services.change_audit import auditing
from ui.services.dashboard import dashboard_of

router = APIRouter(tags=["access"])

CHANGED: dict[int | str, dict[str, Any]] = dict.fromkeys((401, 403, 404, 409, 422), PROBLEM_RESPONSE)
NEW_KEY_EXAMPLE = {"name": "desk", "role": "viewer"}


class KeyRow(TypedDict):
    """`created_at` in microseconds UTC. Neither a key nor its hash is ever shown."""

    name: str
    role: str
    created_at: int


class NewKeyRow(KeyRow):
    """`key`: shown only here."""

    key: str


class NewKey(BaseModel):
    """Up to 40 of a-z, 0-9, `.`, `_` and `-`; a viewer reads, an author also publishes stream apps, an operator changes
    everything."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=40)]
    role: Role


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


@router.post("/keys", status_code=201, responses=CHANGED, openapi_extra=body_schema(NewKey, NEW_KEY_EXAMPLE))
async def make_key(request: Request, caller: Operator) -> JSONResponse:
    """Make a key, and return it this once: only its hash is stored. 409: there is one of that name, or too many."""
    asked = await body_of(request, NewKey, "`name` and `role`")
    key = new_key()
    stored = StoredKey(asked.name, asked.role, wall_now(), digest_of(key))
    await _in_key_file(request, caller, partial(add_key, keys_folder(access_of(request).home), stored, caller), 409)
    made = row_from(NewKeyRow, stored, key=key)
    return JSONResponse(made, 201, headers={"Cache-Control": "no-store"})


@router.delete("/keys/{name}", status_code=204, responses=CHANGED)
async def revoke(request: Request, name: Annotated[str, Path(max_length=100)], caller: Operator) -> Response:
    """Revoke a key: from the next request on it is nobody's, and its browsers are signed out. The owner's cannot be."""
    await _in_key_file(request, caller, partial(revoke_key, keys_folder(access_of(request).home), name, caller), 404)
    return Response(status_code=204)


async def _in_key_file(request: Request, caller: Caller, change: Callable[[], object], status: int) -> None:
    """Change the file of keys, whose list of changes gets into the audit log. Raises ProblemError `status`, and 409 if
    the file cannot be read."""
    try:
        await asyncio.to_thread(change)
    except UiError as error:
        await record_rejection(request, str(error), caller)
        raise ProblemError(status if isinstance(error, KeyNameError) else 409, str(error)) from None


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
