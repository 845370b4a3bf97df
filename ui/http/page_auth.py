"""Admits only signed-in users to pages and documentation, if reading needs a key.

Streamlit authenticates nobody, so its page, files and socket are behind this middleware. REST and the live socket check
for themselves.
"""

from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from ui.auth.access_service import Access
from ui.auth.callers import Caller
from ui.http.operator_requests import cookie_of
from ui.http.problems import problem_response
from ui.http.route_auth import CHALLENGE
from ui.services.dashboard import dashboard_of

SIGN_IN_PAGE = "/sign-in"
LIVE_SOCKET = "/ws/live"
PLACES = frozenset({"/metrics", SIGN_IN_PAGE})
FOLDERS = ("/api/", "/assets/", "/vendor/")
"""Routes that check for themselves, and public ones: the sign-in page and static files."""


class SignedInOnly:
    """Lets every request pass if reading is open."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_outside(scope):
            await self._app(scope, receive, send)
            return
        dashboard = dashboard_of(scope["app"])
        access, headers = dashboard.access, Headers(scope=scope)
        if access.is_reading_open:
            await self._app(scope, receive, send)
            return
        caller = _caller(access, headers)
        if caller is None:
            await _reject(scope, headers, receive, send)
        elif scope["type"] == "websocket":
            await self._app(scope, _while_signed_in(access, headers, receive), send)
        else:
            await self._app(scope, receive, send)


def _is_outside(scope: Scope) -> bool:
    """Return whether this middleware does not apply. Of the sockets only the live one is exempt: any other path may be
    Streamlit's."""
    if scope["type"] == "websocket":
        return bool(scope["path"] == LIVE_SOCKET)
    return scope["type"] != "http" or scope["path"] in PLACES or scope["path"].startswith(FOLDERS)


def _while_signed_in(access: Access, headers: Headers, receive: Receive) -> Receive:
    """Close the socket at the first message after the sign-in has ended; each interaction of a page is a message."""

    async def receive_signed_in() -> Message:
        message = await receive()
        if message["type"] == "websocket.receive" and _caller(access, headers) is None:
            return {"type": "websocket.disconnect", "code": 1008, "reason": "signed out"}
        return message

    return receive_signed_in


def _caller(access: Access, headers: Headers) -> Caller | None:
    """Return the caller by X-API-Key or the sign-in cookie."""
    key = headers.get("x-api-key")
    return access.by_key(key) if key else access.sign_ins.caller(cookie_of(headers))


async def _reject(scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await WebSocketClose(1008, "Sign in first.")(scope, receive, send)
    elif scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
        back = quote(scope["path"], safe="/")
        await RedirectResponse(f"{SIGN_IN_PAGE}?next={back}", 303)(scope, receive, send)
    else:
        response = problem_response(
            401, "Reading needs an API key here: send one, or sign in at /sign-in.", headers=CHALLENGE
        )
        await response(scope, receive, send)
