"""Caps on open streams: each lives as long as its client likes, so a few hundred could take every connection."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from ui.auth.address_groups import counted_address
from ui.auth.denied_log import DeniedLog
from ui.http.problems import problem_response
from ui.server.connection_limits import RawHeaders, nobody

RETRY_SECONDS = 5


@dataclass(frozen=True, slots=True)
class StreamCap:
    """Maximum number of open streams of one kind."""

    name: str
    per_address: int
    in_all: int


EVENTS = StreamCap("server-sent events", 80, 96)
SOCKETS = StreamCap("live sockets", 240, 256)
PAGES = StreamCap("page sockets", 56, 64)
"""Streamlit's own, one for each open page. Each kind has its own count: a flood of one does not block the others."""


class BoundedStreams:
    """Answers 429 at a cap. The caps are below those on connections, which leaves a reserve. Operators always pass."""

    def __init__(
        self,
        app: ASGIApp,
        events: StreamCap = EVENTS,
        sockets: StreamCap = SOCKETS,
        pages: StreamCap = PAGES,
        is_from_operator: Callable[[RawHeaders], bool] = nobody,
    ) -> None:
        self._app = app
        self._caps: Mapping[tuple[str, str], StreamCap] = {
            ("http", "/api/stream"): events,
            ("websocket", "/ws/live"): sockets,
        }
        self._pages = pages
        self._is_operators = is_from_operator
        self._open: Counter[tuple[StreamCap, str]] = Counter()
        self._denied = DeniedLog("stream")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        cap = self._cap_of(scope)
        if cap is None:
            await self._app(scope, receive, send)
            return
        host = scope["client"][0] if scope.get("client") else ""
        address = counted_address(host)
        rejection = self._rejection(cap, address)
        if rejection is not None:
            # looked up only here, since it costs time
            if self._is_operators(scope["headers"]):
                await self._app(scope, receive, send)
                return
            self._denied.record(host, rejection)
            await _reject(rejection, scope, receive, send)
            return
        self._open[cap, address] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[cap, address] -= 1
            if not self._open[cap, address]:
                del self._open[cap, address]

    def _cap_of(self, scope: Scope) -> StreamCap | None:
        if scope["type"] not in ("http", "websocket"):
            return None
        return self._caps.get((scope["type"], scope["path"]), self._pages if scope["type"] == "websocket" else None)

    def _rejection(self, cap: StreamCap, address: str) -> str | None:
        if self._open[cap, address] >= cap.per_address:
            return f"This address has {cap.per_address} open {cap.name} already; close some, or try again."
        if sum(count for (kind, _), count in self._open.items() if kind == cap) >= cap.in_all:
            return f"This service has {cap.in_all} open {cap.name} already; try again."
        return None


async def _reject(detail: str, scope: Scope, receive: Receive, send: Send) -> None:
    response = problem_response(429, detail, headers={"Retry-After": str(RETRY_SECONDS)})
    if scope["type"] == "websocket":
        await WebSocket(scope, receive, send).send_denial_response(response)
    else:
        await response(scope, receive, send)
