"""Signing a browser in: the page hands its key over once and gets a cookie that no script can read."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from ui.auth.api_keys import known_key
from ui.auth.sign_ins import COOKIE, SIGN_IN_SECONDS
from ui.http.page_files import ASSETS
from ui.http.problems import ProblemError
from ui.http.rejected_changes import address_of, record_rejection
from ui.http.route_auth import CHALLENGE, SignInCookie, Viewer, access_of, spend, too_many
from ui.rows.attribute import row_from

router = APIRouter(tags=["access"])
page_router = APIRouter(include_in_schema=False)

UNKNOWN_KEY = "Unknown or revoked key."
PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}


class SignIn(BaseModel):
    """The key is used for this one request and not stored."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    key: Annotated[str, Field(min_length=1, max_length=200, description="A key of `keys add`, or the owner's.")]


class CallerRow(TypedDict):
    """`means`: how the caller was identified – `open`, `key`, `sign-in` or `token`."""

    name: str
    role: str
    means: str


@router.post("/sign-in")
async def sign_in(request: Request, response: Response, given: SignIn) -> CallerRow:
    """Return a cookie for this browser, valid for twelve hours, or until POST /api/sign-out or the revocation of the
    key."""
    access, address = access_of(request), address_of(request)
    key = known_key(access.home, given.key.strip())
    if key is None:
        wait = access.count_wrong_key(address)
        if wait:
            raise too_many(wait)
        await record_rejection(request, UNKNOWN_KEY)
        raise ProblemError(401, UNKNOWN_KEY, headers=CHALLENGE)
    spend(access.signing_in, key.name)
    response.set_cookie(
        COOKIE,
        await asyncio.to_thread(access.sign_ins.begin, key, address, request.headers.get("user-agent", "")),
        max_age=SIGN_IN_SECONDS,
        secure=_is_behind_tls(request),
        httponly=True,
        samesite="strict",
    )
    return row_from(CallerRow, key, means="sign-in")


def _is_behind_tls(request: Request) -> bool:
    """Return whether the browser reached us over TLS: a proxy before us speaks plain HTTP to us."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


@router.post("/sign-out", status_code=204)
async def sign_out(request: Request, cookie: SignInCookie = None) -> Response:
    """End the sign-in: the cookie is no longer valid."""
    await asyncio.to_thread(access_of(request).sign_ins.end, cookie)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@router.get("/caller")
async def who(caller: Viewer) -> CallerRow:
    """Return the caller of this request, as the service identifies it."""
    return row_from(CallerRow, caller)


@page_router.get("/sign-in")
async def sign_in_page() -> FileResponse:
    """Return the sign-in page, open to everybody."""
    return FileResponse(ASSETS / "sign_in.html", headers=PAGE_HEADERS)
