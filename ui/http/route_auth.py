"""Who may use a route: `Viewer` reads, `Author` writes and publishes stream apps, `Operator` changes,
`ReadingOperator` reads what only operators may see, `Asker` has something computed.

Each route takes one of them; the value is the caller. Callers are known by the header X-API-Key, by `Authorization:
Bearer` (a key, or a token of the configured OIDC issuer), or by the cookie of a signed-in page.
"""

from math import ceil
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from ui.auth.access_service import Access
from ui.auth.api_keys import KEY_FILE
from ui.auth.callers import Caller, rate_name
from ui.auth.oidc_tokens import IssuerUnavailableError, TokenRejectedError, Tokens, looks_like_token
from ui.auth.rate_buckets import Rates
from ui.auth.sign_ins import COOKIE
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.rejected_changes import address_of, record_rejection
from ui.services.dashboard import dashboard_of

CHALLENGE = {"WWW-Authenticate": 'ApiKey realm="arbitrage", Bearer realm="arbitrage"'}
REJECTED: dict[int | str, dict[str, Any]] = dict.fromkeys((401, 403, 422, 429, 503), PROBLEM_RESPONSE)
"""Rejections that any route may answer with."""

KeyHeader = Annotated[
    str | None,
    Security(APIKeyHeader(name="X-API-Key", scheme_name="ApiKey", auto_error=False, description="A key of `keys add`")),
]
BearerHeader = Annotated[
    HTTPAuthorizationCredentials | None,
    Security(HTTPBearer(scheme_name="Bearer", auto_error=False, description="A key, or a token of the OIDC issuer")),
]
SignInCookie = Annotated[
    str | None,
    Security(APIKeyCookie(name=COOKIE, scheme_name="SignIn", auto_error=False, description="POST /api/sign-in")),
]


async def viewer(request: Request, key: KeyHeader, bearer: BearerHeader, cookie: SignInCookie) -> Caller:
    """Return the caller. Raises ProblemError: 401 if reading needs a key and there is none, or a wrong one was given;
    429."""
    access = access_of(request)
    caller = await _known(request, key, bearer, cookie) or access.anybody(address_of(request))
    if caller is None:
        detail = "Reading needs an API key here: send the header X-API-Key, or sign in at /sign-in."
        raise await _rejection(request, ProblemError(401, detail, headers=CHALLENGE))
    spend(access.requests, rate_name(caller))
    access.seen.note(caller)
    return caller


Viewer = Annotated[Caller, Depends(viewer)]


async def asker(request: Request, caller: Viewer) -> Caller:
    """Return the caller, of whom the rate of questions that cost CPU is taken. Raises ProblemError 429."""
    spend(access_of(request).questions, rate_name(caller))
    return caller


Asker = Annotated[Caller, Depends(asker)]


async def reading_operator(caller: Viewer) -> Caller:
    """Return the caller. Raises ProblemError: 401 without a key, 403 for a viewer."""
    if caller.means == "open":
        raise ProblemError(401, "Operators only: send an operator's key.", headers=CHALLENGE)
    if not caller.may_change:
        raise ProblemError(403, f"{caller.named}; this is for operators only.")
    return caller


ReadingOperator = Annotated[Caller, Depends(reading_operator)]


async def operator(request: Request, key: KeyHeader, bearer: BearerHeader, cookie: SignInCookie) -> Caller:
    """Return the caller. Raises ProblemError: 401 without a key or with a wrong one, 403 for a viewer or an author,
    429."""
    return await _operating(request, await _changing(request, key, bearer, cookie, access_of(request).changes))


Operator = Annotated[Caller, Depends(operator)]


async def uploader(request: Request, key: KeyHeader, bearer: BearerHeader, cookie: SignInCookie) -> Caller:
    """Return the caller, an operator who sends a piece of a file. Raises ProblemError as `operator` does."""
    return await _operating(request, await _changing(request, key, bearer, cookie, access_of(request).pieces))


Uploader = Annotated[Caller, Depends(uploader)]


async def _operating(request: Request, caller: Caller) -> Caller:
    """Raise ProblemError 403 if it is no operator."""
    if not caller.may_change:
        raise await _rejection(request, ProblemError(403, f"{caller.bounds}."), caller)
    return caller


async def author(request: Request, key: KeyHeader, bearer: BearerHeader, cookie: SignInCookie) -> Caller:
    """Return the caller, who may write and publish stream apps. Raises ProblemError as `operator` does; 403 for a
    viewer."""
    caller = await _changing(request, key, bearer, cookie, access_of(request).changes)
    if not caller.may_publish:
        raise await _rejection(request, ProblemError(403, f"{caller.bounds}."), caller)
    return caller


Author = Annotated[Caller, Depends(author)]


async def _changing(
    request: Request, key: str | None, bearer: HTTPAuthorizationCredentials | None, cookie: str | None, rates: Rates
) -> Caller:
    """Return the caller of a change, whose role is not looked at yet; one of `rates` is taken. Raises ProblemError 401,
    403, 429."""
    caller = await _known(request, key, bearer, cookie)
    if caller is None:
        detail = f"Changes need the header X-API-Key; the owner's key is in {KEY_FILE} in the data folder."
        raise await _rejection(request, ProblemError(401, detail, headers=CHALLENGE))
    spend(rates, rate_name(caller))
    if caller.means == "sign-in" and "origin" not in request.headers:
        # browsers send a cookie by themselves; a change must come from our own page, which names its origin
        detail = "The cookie alone allows changes only from the dashboard's own pages; send a key."
        raise await _rejection(request, ProblemError(403, detail), caller)
    access_of(request).seen.note(caller)
    # for the audit log, in case the request turns out invalid
    request.state.caller = caller
    return caller


async def caller_by_key(access: Access, given: str, address: str) -> Caller:
    """Return the caller by a key or a token. Raises ProblemError 401, or 429 if too many wrong ones came from the
    address.

    A valid one passes even then: nobody guesses 256 bits, and a program with an old key must not lock out its
    neighbours.
    """
    if access.tokens is not None and looks_like_token(given):
        return await _bearer(access.tokens, access, given, address)
    caller = access.by_key(given, address)
    if caller is None:
        raise _wrong(access, address, "Unknown or revoked key.")
    return caller


async def _bearer(tokens: Tokens, access: Access, token: str, address: str) -> Caller:
    try:
        caller = await tokens.caller(token, address)
    except TokenRejectedError as rejected:
        raise _wrong(access, address, f"Token rejected: {rejected}.") from None
    except IssuerUnavailableError as error:
        raise ProblemError(503, str(error), headers={"Retry-After": "30"}) from None
    if caller is None:
        raise ProblemError(403, "The token gives no role.")
    return caller


def _wrong(access: Access, address: str, detail: str) -> ProblemError:
    wait = access.count_wrong_key(address)
    return too_many(wait) if wait else ProblemError(401, detail, headers=CHALLENGE)


def access_of(request: Request) -> Access:
    return dashboard_of(request.app).access


def too_many(wait: float) -> ProblemError:
    """Return a 429; `wait` in seconds."""
    return ProblemError(
        429, f"Too many requests; try again in {ceil(wait)} s.", headers={"Retry-After": str(ceil(wait))}
    )


def spend(rates: Rates, name: str) -> None:
    """Raise ProblemError 429 if the rate is used up."""
    wait = rates.take(name)
    if wait:
        raise too_many(wait)


async def _known(
    request: Request, key: str | None, bearer: HTTPAuthorizationCredentials | None, cookie: str | None
) -> Caller | None:
    """Return the caller; None without credentials. Wrong ones are rejected: a mistyped key does not count as none."""
    access, address = access_of(request), address_of(request)
    given = key or (bearer.credentials if bearer is not None else None)
    if given is None:
        # an expired cookie counts as none: if reading is open, the page must keep working
        return access.sign_ins.caller(cookie, address)
    try:
        return await caller_by_key(access, given, address)
    except ProblemError as problem:
        raise (await _rejection(request, problem)) if problem.status == 401 else problem from None


async def _rejection(request: Request, problem: ProblemError, caller: Caller | None = None) -> ProblemError:
    """Record the rejected change in the audit log; returns `problem`."""
    await record_rejection(request, problem.detail, caller)
    return problem
