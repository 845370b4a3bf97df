"""Limits on the number of connections and on the time until a request is complete, before any of our own code."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, cast

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from ui.auth.address_groups import counted_address
from ui.auth.denied_log import DeniedLog

RawHeaders = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class ConnectionCaps:
    """WebSockets count too. The caps on streams (`ui.server.stream_caps`) leave a reserve for plain requests."""

    in_all: int = 600
    per_address: int = 500
    reserve: int = 100
    """Beyond `in_all`, for connections whose header is not read yet: one may be an operator's, and operators always
    pass."""
    without_header: int = 64
    """Connections without a complete header for `grace_seconds`; beyond this number the oldest are closed."""
    grace_seconds: float = 1.0
    """Many clients may connect at once, before we have read what they sent."""
    header_seconds: float = 10.0
    body_seconds: float = 12.0
    """From the header on; a route that reads the body answers 408 earlier."""
    rest_seconds: float = 1.0
    """For the rest of a request that was already answered: closing with unread data would discard our answer."""


CAPS = ConnectionCaps()
REJECTION = (
    b'{"type":"/api/problems/too-many-requests","title":"Too many requests","status":429,'
    b'"detail":"There are too many connections to this service; close some, or try again."}'
)
REJECTED = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\nRetry-After: 2\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(REJECTION), REJECTION)
)
BODY_HEADERS = {b"content-length", b"transfer-encoding"}
LATE = {
    "header": "no whole header in time",
    "body": "no whole body in time",
    "rest": "a body that nobody reads",
}
Owed = Literal["header", "body", "rest"]


class SilentConnections:
    """Connections of one server without a complete header, oldest first; cheap even in a flood."""

    def __init__(self) -> None:
        self.denied = DeniedLog("connection")
        self._since: dict[BoundedHttp, float] = {}

    def add(self, connection: "BoundedHttp", now: float) -> None:
        self._since[connection] = now

    def discard(self, connection: "BoundedHttp") -> None:
        self._since.pop(connection, None)

    def overdue(self, caps: ConnectionCaps, now: float) -> list["BoundedHttp"]:
        """Return the oldest beyond the cap, but none within their grace time."""
        oldest = islice(self._since.items(), max(0, len(self._since) - caps.without_header))
        return [connection for connection, since in oldest if now - since >= caps.grace_seconds]


def nobody(_: RawHeaders) -> bool:
    """Return False: nobody is an operator."""
    return False


class BoundedHttp(H11Protocol):
    """uvicorn's own HTTP, which by itself would wait for ever for the rest of a request and accept any number of
    connections."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        caps: ConnectionCaps = CAPS,
        waiting: SilentConnections | None = None,
        is_from_operator: Callable[[RawHeaders], bool] = nobody,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._caps = caps
        self._waiting = SilentConnections() if waiting is None else waiting
        self._is_operators = is_from_operator
        self._owed: Owed | None = None
        self._hurrying: asyncio.TimerHandle | None = None
        self.is_admitted = False
        self.is_rejected = False

    @property
    def is_idle(self) -> bool:
        """Return whether no request of it is being answered."""
        return self._owed in ("header", "rest") or self.is_rejected or self.timeout_keep_alive_task is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._await("header")
        for one in self._waiting.overdue(self._caps, self.loop.time()):
            one.hang_up("too many without a header")
        if len(self.connections) > self._caps.in_all + self._caps.reserve and not self._makes_room(self.connections):
            self.hang_up("too many connections")

    def data_received(self, data: bytes) -> None:
        if not self.is_rejected:
            super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        # an upgraded connection has another protocol by now
        if not self.is_rejected and self in self.connections:
            self._await(self._owed_now())

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and self._owed == "body":
            self._await("rest")

    def _should_upgrade(self) -> bool:
        """Check the connection once the header has been read and before the request is handled: now the caller is
        known."""
        if not self.is_admitted:
            self.is_admitted = self._may_stay()
        return not self.is_admitted or super()._should_upgrade()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        if self.is_admitted:
            self._await(None)
            super().handle_websocket_upgrade(event)
        else:
            self._reject()

    def connection_lost(self, exc: Exception | None) -> None:
        self._await(None)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        if self.is_rejected:
            self.transport.close()
        else:
            super().shutdown()

    def hang_up(self, why: str) -> None:
        self._waiting.denied.record(_host_of(self), why)
        self._await(None)
        self.connections.discard(self)
        self.transport.close()

    def _may_stay(self) -> bool:
        """Return whether the connection may stay: operators always; others below the caps, or in place of an idle
        connection."""
        if len(self.connections) <= min(self._caps.in_all, self._caps.per_address):
            return True
        counted = [one for one in self.connections if getattr(one, "is_admitted", True)]
        mine = [one for one in counted if _address_of(one) == _address_of(self)]
        if len(mine) >= self._caps.per_address:
            return self._makes_room(mine) or self._is_operators(self.headers)
        return len(counted) < self._caps.in_all or self._makes_room(counted) or self._is_operators(self.headers)

    def _makes_room(self, crowd: Iterable[object]) -> bool:
        """Close the connection that has been idle for longest, of the address that has most. Return whether there was
        one."""
        crowd = [one for one in crowd if one is not self]
        has = Counter(map(_address_of, crowd))
        idle = [one for one in crowd if isinstance(one, BoundedHttp) and one.is_idle]
        if idle:
            min(idle, key=lambda one: (-has[_address_of(one)], one.ends_at)).hang_up("too many connections")
        return bool(idle)

    @property
    def ends_at(self) -> float:
        """The end of its timer; the earliest is the longest idle."""
        timer = self._hurrying or self.timeout_keep_alive_task
        return timer.when() if timer is not None else 0.0

    def _reject(self) -> None:
        self._waiting.denied.record(_host_of(self), "too many connections")
        self._await("rest")
        self.is_rejected = True
        self.transport.write(REJECTED)
        if not BODY_HEADERS & {name for name, _ in self.headers}:
            self.transport.close()

    def _owed_now(self) -> Owed | None:
        """Return what the client has begun and not completed."""
        if self.conn.their_state is h11.IDLE:
            return None if self.timeout_keep_alive_task is not None else "header"
        if self.conn.their_state is not h11.SEND_BODY:
            return None
        return "rest" if self.cycle.response_complete else "body"

    def _await(self, owed: Owed | None) -> None:
        """Start the timer, unless the same is awaited already: another byte does not extend it."""
        if owed == self._owed:
            return
        self._waiting.discard(self)
        if self._hurrying is not None:
            self._hurrying.cancel()
            self._hurrying = None
        self._owed = owed
        if owed is None:
            return
        if owed == "header":
            self._waiting.add(self, self.loop.time())
        seconds = {
            "header": self._caps.header_seconds,
            "body": self._caps.body_seconds,
            "rest": self._caps.rest_seconds,
        }[owed]
        self._hurrying = self.loop.call_later(seconds, self.hang_up, LATE[owed])


def _host_of(connection: object) -> str:
    client = cast("tuple[str, int] | None", getattr(connection, "client", None))
    return client[0] if client else ""


def _address_of(connection: object) -> str:
    return counted_address(_host_of(connection))
