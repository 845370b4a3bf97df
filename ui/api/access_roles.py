"""Who may use a route: `Viewer` reads, `Operator` changes. Each route takes one of them.

The value is the caller. Known by the header X-API-Key, by `Authorization: Bearer` (a key, or a token of the configured
OIDC issuer), or by the cookie of a signed-in page.
"""

from math import ceil
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from market.access import Caller
from ui.access import Access
from ui.api.problems import PROBLEM_RESPONSE, ProblemError
from ui.dashboard import Dashboard
from ui.keys import KEY_FILE
from ui.rates import Rates
from ui.sign_ins import COOKIE

CHALLENGE = {"WWW-Authenticate": 'ApiKey realm="arbitrage", Bearer realm="arbitrage"'}

REFUSED: dict[int | str, dict[str, Any]] = dict.fromkeys((401, 403, 422, 429, 503), PROBLEM_RESPONSE)
"""What any route may answer."""

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
    """Raises ProblemError: 401 where reading needs a key and there is none, or one was given that is wrong; 429."""
    access = access_of(request)
    caller = await _known(access, address_of(request), key, bearer, cookie)
    caller = caller or access.anybody(address_of(request))
    if caller is None:
        raise ProblemError(401, "Reading needs a key here: the header X-API-Key, or sign in.", headers=CHALLENGE)
    spend(access.requests, rate_name(caller))
    return caller


Viewer = Annotated[Caller, Depends(viewer)]


async def operator(request: Request, key: KeyHeader, bearer: BearerHeader, cookie: SignInCookie) -> Caller:
    """Raises ProblemError: 401 without a key or with a wrong one, 403 for a viewer, 429."""
    access = access_of(request)
    caller = await _known(access, address_of(request), key, bearer, cookie)
    if caller is None:
        raise ProblemError(
            401,
            f"Changing needs the header X-API-Key with an operator's key; the owner's lies in {KEY_FILE} in the data "
            "folder.",
            headers=CHALLENGE,
        )
    if not caller.may_change:
        raise ProblemError(403, f"{caller.name} is a viewer and may change nothing.")
    _check_own_page(request, caller)
    spend(access.changes, rate_name(caller))
    return caller


Operator = Annotated[Caller, Depends(operator)]


def access_of(request: Request) -> Access:
    dashboard: Dashboard = request.app.state.dashboard
    return dashboard.access


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


def rate_name(caller: Caller) -> str:
    """Whose bucket it takes from: a key's own, else the address's."""
    return f"address {caller.address}" if caller.means == "open" else f"{caller.means} {caller.name}"


def spend(rates: Rates, name: str) -> None:
    """Raises ProblemError 429 where there is nothing left to spend."""
    wait = rates.take(name)
    if wait:
        detail = f"Too many requests; try again in {ceil(wait)} s."
        raise ProblemError(429, detail, headers={"Retry-After": str(ceil(wait))})


async def _known(
    access: Access, address: str, key: str | None, bearer: HTTPAuthorizationCredentials | None, cookie: str | None
) -> Caller | None:
    """None where nothing was given. What is given must be right: a mistyped key is not read as none.

    Raises ProblemError 401, or 429 where too many wrong ones came from the address; a right one passes even then, as
    256 bits are not guessed, and one program with an old key must not lock its neighbours out.
    """
    given = key or (bearer.credentials if bearer is not None else None)
    if given is not None:
        caller = access.by_key(given, address)
        if caller is None:
            spend(access.guesses, address)
            raise ProblemError(401, "This key is not, or no longer, known here.", headers=CHALLENGE)
        return caller
    # a cookie that is over is like none: where reading is open the page must go on
    return access.sign_ins.caller(cookie, address)


def _check_own_page(request: Request, caller: Caller) -> None:
    """A cookie comes along by itself, so what it changes must be asked for by a page of ours, which names its origin;
    `SameHostOnly` has compared the origin before. Raises ProblemError 403."""
    if caller.means == "sign-in" and "origin" not in request.headers:
        raise ProblemError(403, "With the cookie alone only our own pages may change something; send a key.")
