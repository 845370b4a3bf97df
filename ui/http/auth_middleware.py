"""Pages and documentation for the signed-in alone, where reading needs a key.

Before Streamlit, since Streamlit asks nobody: its page, its files and its socket are all behind this. REST and the
live socket stand beside it and check for themselves.
"""

from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from session.roles import Caller
from ui.auth.access_service import Access
from ui.http.operator_requests import cookie_of
from ui.http.problems import problem_response
from ui.http.route_roles import CHALLENGE
from ui.services.dashboard import Dashboard

SIGN_IN_PAGE = "/sign-in"
LIVE_SOCKET = "/ws/live"
PLACES = frozenset({"/metrics", SIGN_IN_PAGE})
FOLDERS = ("/api/", "/assets/", "/vendor/")
"""What checks for itself, and what is the same for everybody: the page to sign in on and program text."""


class SignedInOnly:
    """Lets everything pass where reading is open."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_outside(scope):
            await self._app(scope, receive, send)
            return
        dashboard: Dashboard = scope["app"].state.dashboard
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
    """Of sockets one alone, since any other path may be Streamlit's."""
    if scope["type"] == "websocket":
        return bool(scope["path"] == LIVE_SOCKET)
    return scope["type"] != "http" or scope["path"] in PLACES or scope["path"].startswith(FOLDERS)


def _while_signed_in(access: Access, headers: Headers, receive: Receive) -> Receive:
    """Each click and each look of a page comes as a message: the first one after the sign-in's end finds the socket
    closed."""

    async def receive_signed_in() -> Message:
        message = await receive()
        if message["type"] == "websocket.receive" and _caller(access, headers) is None:
            return {"type": "websocket.disconnect", "code": 1008, "reason": "signed out"}
        return message

    return receive_signed_in


def _caller(access: Access, headers: Headers) -> Caller | None:
    """By a program's key or a browser's cookie."""
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
