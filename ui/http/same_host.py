"""Admits only this host's own pages and programs, to REST, WebSockets and Streamlit."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from runtime.loopback import LOOPBACK_HOSTS, is_loopback
from ui.http.problems import problem_response

CHANGING_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class SameHostOnly:
    """Rejects a foreign Host (a name rebound to loopback) and a foreign Origin (another site's page).

    Only browsers send an Origin; programs without one pass. `names` None lets every Host pass, since a server beyond
    loopback is reached by names that only the network knows; the Origin must still match.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str] | None = LOOPBACK_HOSTS) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        rejection = self._rejection(scope, Headers(scope=scope))
        if rejection is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(1008, rejection)(scope, receive, send)
        else:
            await problem_response(403, rejection)(scope, receive, send)

    def _rejection(self, scope: Scope, headers: Headers) -> str | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if self._names is not None and _name_of(f"//{host}") not in self._names:
            return "This server only answers to its own host name."
        must_match = scope["type"] == "websocket" or scope["method"] in CHANGING_METHODS
        if must_match and origin is not None and _place_of(origin) != host:
            return "Pages of other origins may not use this server."
        return None


def names_of(web_host: str) -> frozenset[str] | None:
    """Return the host names that a server bound to `web_host` accepts; None for all."""
    return LOOPBACK_HOSTS | {web_host} if is_loopback(web_host) else None


def _place_of(origin: str) -> str | None:
    """Return name and port."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _name_of(address: str) -> str | None:
    try:
        return None if "@" in address else urlsplit(address).hostname
    except ValueError:
        return None
