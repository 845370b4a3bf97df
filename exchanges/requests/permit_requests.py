"""HTTP requests that ask for an order's permit in their last step before the wire."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import aiohttp
from aiohttp.connector import Connection

from exchanges.errors import NotPostedError
from exchanges.requests.order_permits import departing
from session.clock import wall_now


@dataclass(slots=True)
class LeftAt:
    """When the newest request of a task left, by this machine's clock, microseconds; None where none has."""

    at: int | None = None


_LEFT_AT: ContextVar[LeftAt | None] = ContextVar("left_at", default=None)


@contextmanager
def timed() -> Iterator[LeftAt]:
    """Requests of this task say when they left: after all that they had to wait for."""
    left = LeftAt()
    token = _LEFT_AT.set(left)
    try:
        yield left
    finally:
        _LEFT_AT.reset(token)


class PermitRequest(aiohttp.ClientRequest):
    """Asks once it has its connection. Nothing is waited for after the answer: aiohttp writes headers and body
    together, in the next turn of the event loop."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        order = departing()
        if order is not None:
            order.ask()
        left = _LEFT_AT.get()
        if left is not None:
            left.at = wall_now()
        return await super().send(conn)


class OrderHttpRequest(PermitRequest):
    """Of a connection that posts orders and nothing else: without a permit nothing goes."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        if departing() is None:
            raise NotPostedError("nobody permitted it")
        return await super().send(conn)
