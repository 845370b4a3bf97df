"""How many connections there may be, and how long one may take to say what it wants: before any of our own code."""

import asyncio
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from ui.turned_away import TurnedAway


@dataclass(frozen=True, slots=True)
class ConnectionCaps:
    """WebSockets count as well. What streams may take (`ui.api.stream_caps`) leaves a reserve for plain requests."""

    in_all: int = 600
    per_address: int = 500
    without_header: int = 64
    """Of those that have not said what they want for `grace_seconds`; with more the oldest go: who is in earnest has
    long been answered."""
    grace_seconds: float = 1.0
    """So many may connect at once that we have not read yet what they sent."""
    header_seconds: float = 10.0
    being_refused: int = 100
    """Beyond all, those that are being told so; whoever comes then is told nothing."""


CAPS = ConnectionCaps()
REFUSED_SECONDS = 1.0
"""For what a client sends meanwhile: closed with that unread, the system would take our answer back."""
REFUSAL = (
    b'{"type":"/api/problems/too-many-requests","title":"Too many requests","status":429,'
    b'"detail":"There are too many connections to this service; close some, or try again."}'
)
REFUSED = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\nRetry-After: 2\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(REFUSAL), REFUSAL)
)


class Waiting:
    """Those of one server that have not said what they want, oldest first; a flood makes each step of it dear."""

    def __init__(self) -> None:
        self.turned_away = TurnedAway("connection")
        self._since: dict[BoundedHttp, float] = {}

    def add(self, connection: "BoundedHttp", now: float) -> None:
        self._since[connection] = now

    def discard(self, connection: "BoundedHttp") -> None:
        self._since.pop(connection, None)

    def overdue(self, caps: ConnectionCaps, now: float) -> list["BoundedHttp"]:
        """So many of the oldest as there are too many, but none that came just now."""
        oldest = islice(self._since.items(), max(0, len(self._since) - caps.without_header))
        return [connection for connection, since in oldest if now - since >= caps.grace_seconds]


class BoundedHttp(H11Protocol):
    """uvicorn's own HTTP, which else waits for ever for the rest of a header, and takes whoever comes."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        caps: ConnectionCaps = CAPS,
        waiting: Waiting | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._caps = caps
        self._waiting = Waiting() if waiting is None else waiting
        self._hurrying: asyncio.TimerHandle | None = None
        self.is_refused = False

    @property
    def address(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def awaits_header(self) -> bool:
        return self._hurrying is not None and not self.is_refused

    @property
    def is_idle(self) -> bool:
        """Nothing of it is being answered."""
        return self.awaits_header or self.timeout_keep_alive_task is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._await_header()
        for one in self._waiting.overdue(self._caps, self.loop.time()):
            one.hang_up("too many without a header")
        if self._is_one_too_many():
            others = (one for one in self.connections if isinstance(one, BoundedHttp) and one is not self)
            idle = [one for one in others if one.is_idle and one.address == self.address]
            if idle:
                min(idle, key=_since).hang_up("too many connections")
            else:
                self._refuse()

    def data_received(self, data: bytes) -> None:
        if self.is_refused:
            self.transport.close()
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_hurrying()
        elif self._hurrying is None and self.timeout_keep_alive_task is None and not self.transport.is_closing():
            # the next request on the same connection has begun
            self._await_header()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_hurrying()
        super().connection_lost(exc)

    def hang_up(self, why: str) -> None:
        self._waiting.turned_away.note(self.address, why)
        self._stop_hurrying()
        self.connections.discard(self)
        self.transport.close()

    def _is_one_too_many(self) -> bool:
        if len(self.connections) <= min(self._caps.in_all, self._caps.per_address):
            return False
        counted = [_address_of(one) for one in self.connections if not getattr(one, "is_refused", False)]
        return len(counted) > self._caps.in_all or counted.count(self.address) > self._caps.per_address

    def _refuse(self) -> None:
        self._waiting.turned_away.note(self.address, "too many connections")
        self.is_refused = True
        self._stop_hurrying()
        if len(self.connections) > self._caps.in_all + self._caps.being_refused:
            self.transport.abort()
            return
        self.transport.write(REFUSED)
        self._hurrying = self.loop.call_later(REFUSED_SECONDS, self.transport.close)

    def _await_header(self) -> None:
        self._waiting.add(self, self.loop.time())
        self._hurrying = self.loop.call_later(self._caps.header_seconds, self.hang_up, "no whole header in time")

    def _stop_hurrying(self) -> None:
        self._waiting.discard(self)
        if self._hurrying is not None:
            self._hurrying.cancel()
            self._hurrying = None


def _address_of(connection: object) -> str:
    client = cast("tuple[str, int] | None", getattr(connection, "client", None))
    return client[0] if client else ""


def _since(connection: BoundedHttp) -> float:
    """When its timer ends: the oldest first."""
    timer = connection._hurrying or connection.timeout_keep_alive_task
    return timer.when() if timer is not None else 0.0
