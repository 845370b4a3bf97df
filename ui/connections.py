"""How many connections there may be, and how long one may take to say what it wants: before any of our own code."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


class BoundedHttp(H11Protocol):
    """uvicorn's own HTTP, which else waits for ever for the rest of a header, and takes whoever comes."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        caps: ConnectionCaps = CAPS,
        turned_away: TurnedAway | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._caps = caps
        self._turned_away = turned_away or TurnedAway("connection")
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
        others = _http_of(self.connections)
        for one in self._overdue(others):
            one.hang_up("too many without a header")
        if self._is_one_too_many():
            idle = [one for one in others if one.is_idle and one is not self and one.address == self.address]
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
        self._turned_away.note(self.address, why)
        self._stop_hurrying()
        self.connections.discard(self)
        self.transport.close()

    def _overdue(self, others: Sequence["BoundedHttp"]) -> list["BoundedHttp"]:
        waiting = sorted((one for one in others if one.awaits_header), key=_since)
        latest = self.loop.time() + self._caps.header_seconds - self._caps.grace_seconds
        too_many = len(waiting) - self._caps.without_header
        return [one for one in waiting[: max(0, too_many)] if one is not self and _since(one) <= latest]

    def _is_one_too_many(self) -> bool:
        counted = [_address_of(one) for one in self.connections if not getattr(one, "is_refused", False)]
        return len(counted) > self._caps.in_all or counted.count(self.address) > self._caps.per_address

    def _refuse(self) -> None:
        self._turned_away.note(self.address, "too many connections")
        self.is_refused = True
        self._stop_hurrying()
        if len(self.connections) > self._caps.in_all + self._caps.being_refused:
            self.transport.abort()
            return
        self.transport.write(REFUSED)
        self._hurrying = self.loop.call_later(REFUSED_SECONDS, self.transport.close)

    def _await_header(self) -> None:
        self._hurrying = self.loop.call_later(self._caps.header_seconds, self.hang_up, "no whole header in time")

    def _stop_hurrying(self) -> None:
        if self._hurrying is not None:
            self._hurrying.cancel()
            self._hurrying = None


def _http_of(connections: Iterable[object]) -> list[BoundedHttp]:
    return [one for one in connections if isinstance(one, BoundedHttp)]


def _address_of(connection: object) -> str:
    client = cast("tuple[str, int] | None", getattr(connection, "client", None))
    return client[0] if client else ""


def _since(connection: BoundedHttp) -> float:
    """When its timer ends: the oldest first."""
    timer = connection._hurrying or connection.timeout_keep_alive_task
    return timer.when() if timer is not None else 0.0
