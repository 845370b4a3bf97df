"""HTTP requests that check an order's permit right before they are sent."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import aiohttp
from aiohttp.connector import Connection

from exchanges.errors import NotPostedError
from exchanges.ports.permits import outgoing_order
from runtime.clock import wall_now


@dataclass(slots=True)
class SendTime:
    """When a task's newest request was sent, by this machine's clock, microseconds; None if none was."""

    at: int | None = None


_SEND_TIME: ContextVar[SendTime | None] = ContextVar("left_at", default=None)


@contextmanager
def recorded_send_time() -> Iterator[SendTime]:
    """Record when this task's requests were sent, after everything that they waited for."""
    send_time = SendTime()
    token = _SEND_TIME.set(send_time)
    try:
        yield send_time
    finally:
        _SEND_TIME.reset(token)


class PermitRequest(aiohttp.ClientRequest):
    """Checks the permit once it has its connection. Nothing waits after the check: aiohttp writes headers and body
    together, in the next iteration of the event loop."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        order = outgoing_order()
        if order is not None:
            order.check()
        send_time = _SEND_TIME.get()
        if send_time is not None:
            send_time.at = wall_now()
        return await super().send(conn)


class OrderHttpRequest(PermitRequest):
    """A request of a connection that only posts orders: without a permit nothing is sent."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        if outgoing_order() is None:
            raise NotPostedError("the request has no permit")
        return await super().send(conn)
