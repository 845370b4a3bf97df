"""Injected faults of HTTP requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from market.time_units import MICROSECONDS
from runtime.clock import Clock
from simulators.catalogue import terms_of
from simulators.faults.fault_kinds import HTTP_FAULTS, ActiveFault, ExchangeFaults, Fault, FaultKind
from simulators.faults.lies import lies_of, write_lie
from simulators.faults.orders import ORDER_CALL, DisconnectedError, OrderCall
from simulators.matching.order_records import Reason, RequestRejectedError
from simulators.web.exchange_gateway import REJECTION, Gateway

_REASONS: Mapping[FaultKind, Reason] = {
    "maintenance": "maintenance",
    "ban": "banned",
    "http_418": "banned",
    "http_429": "rate_limited",
    "http_5xx": "unavailable",
}
_OWN_5XX = (500, 503)
"""Statuses that an exchange sends itself; other ones come from a proxy in front of it."""
_NAMING_AN_END: tuple[FaultKind, ...] = ("ban", "http_418")
"""Kinds whose text may name the end of the ban (milliseconds since the epoch)."""
_BAN_SECONDS = 120.0
_LATENCY_MILLISECONDS = 500
# Longer than any client's timeout.
_SILENT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class HttpFaults:
    """The middleware of one exchange; it runs before everything else in its application."""

    gateway: Gateway
    faults: ExchangeFaults
    clock: Clock

    def install_on(self, application: web.Application) -> None:
        application.middlewares.insert(0, self._middleware())

    def _middleware(self) -> Middleware:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if self.faults.is_quiet:
                return await handler(request)
            response = await self._answer(request, handler)
            if self.faults.newest("clock_skew") is not None and not response.prepared:
                seconds = self.gateway.exchange.clock.now() / MICROSECONDS
                response.headers["Date"] = formatdate(seconds, usegmt=True)
            return response

        return guard

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        # routed paths are decoded: an encoded one is the same path
        path = request.path.removeprefix(f"/{self.faults.exchange}")
        # the way there and the way back are equally long
        half = latency_seconds(self.faults, path) / 2
        if half:
            await self._receive(request, half)
        active = wanted(self.faults, path)
        if active is not None:
            return self._rejection(request, active)
        response = await self._handled(request, handler, path)
        if half and not isinstance(response, web.WebSocketResponse):
            await self.clock.sleep(half)
        return response

    async def _receive(self, request: web.Request, seconds: float) -> None:
        """Read the whole request: it is on its way, even if the sender does not wait for the answer."""
        if request.can_read_body:
            await request.read()
        await self.clock.sleep(seconds)

    async def _handled(self, request: web.Request, handler: Handler, path: str) -> web.StreamResponse:
        """Run the handler, and inject faults of the request's order and of its answer."""
        call = OrderCall()
        token = ORDER_CALL.set(call)
        try:
            response = await handler(request)
        except DisconnectedError:
            return self._disconnected(request)
        finally:
            ORDER_CALL.reset(token)
        if call.is_disconnected:
            return self._disconnected(request)
        is_taken = call.order is not None or call.is_withdrawal
        if is_taken and await self._is_lost(None if call.order is None else call.order.symbol):
            _cut(request)
        return self._lied(request.method, path, self._repeated(path, response))

    def _rejection(self, request: web.Request, active: ActiveFault) -> web.Response:
        """Return the response with the exchange's own error body."""
        fault, now = active.fault, self.clock.now()
        if fault.kind == "http_5xx" and fault.status is not None and fault.status not in _OWN_5XX:
            return _edge_page(fault.status)
        seconds = _seconds_left(active, now)
        error = error_of(active, now)
        response = request.app[REJECTION](error)
        status = error.status_for(response.status)
        if status != response.status:
            response.set_status(status)
        if terms_of(self.faults.exchange).sends_retry_after and status in (418, 429):
            response.headers["Retry-After"] = str(max(1, round(seconds)))
        return response

    async def _is_lost(self, symbol: str | None) -> bool:
        """Return whether the acknowledgement of an order, or a withdrawal, is lost; returns after the client's wait."""
        active = self.faults.inject("lost_acknowledgement", symbol)
        if active is None:
            return False
        if manner_of(self.faults, active) == "timeout":
            await self.clock.sleep(_SILENT_SECONDS)
        return True

    def _disconnected(self, request: web.Request) -> web.Response:
        """Break the request's connection, and all streams with it."""
        self.gateway.subscribers.cut()
        _cut(request)
        return web.Response()

    def _lied(self, method: str, path: str, response: web.StreamResponse) -> web.StreamResponse:
        """Return an answer with a lie about an order, if one is wanted; an answer without such a field uses none up."""
        if self.faults.newest("lie") is None or not isinstance(response, web.Response) or response.status != 200:
            return response
        answer = orjson.loads(response.text or "null")
        if lie_to(self.faults, method, path, answer):
            response.body = orjson.dumps(answer)
        return response

    def _repeated(self, path: str, response: web.StreamResponse) -> web.StreamResponse:
        """Return a list of fills that shows its newest twice, if that is wanted."""
        if self.faults.newest("duplicate_fill_report") is None:
            return response
        if isinstance(response, web.Response) and response.status == 200:
            answer = orjson.loads(response.text or "null")
            if repeat_newest(self.faults, path, answer):
                response.body = orjson.dumps(answer)
        return response


def latency_seconds(faults: ExchangeFaults, path: str) -> float:
    """Return how much longer an answer takes, there and back."""
    active = faults.inject("latency", channel=path)
    if active is None:
        return 0
    return (active.fault.milliseconds or _LATENCY_MILLISECONDS) / 1_000


def lie_to(faults: ExchangeFaults, method: str, path: str, answer: object) -> bool:
    """Write a lie about an order into the answer, if one is wanted and the answer has such a field."""
    active = faults.newest("lie")
    if active is None:
        return False
    lie = active.fault.lie or faults.random.choice(lies_of(faults.exchange))
    return write_lie(faults.exchange, lie, method, path, answer) and faults.inject("lie") is not None


def repeat_newest(faults: ExchangeFaults, path: str, answer: Any) -> bool:
    """Show the newest of a list of fills twice, if that is wanted and the answer has one."""
    for prefix, name in terms_of(faults.exchange).answers.fill_lists:
        rows = answer if path.startswith(prefix) else None
        for part in () if name is None else name.split("."):
            rows = rows.get(part) if isinstance(rows, dict) else None
        if rows and faults.inject("duplicate_fill_report") is not None:
            rows.insert(0, rows[0])
            return True
    return False


def wanted(faults: ExchangeFaults, path: str) -> ActiveFault | None:
    """Return the fault that takes the place of an answer; None if there is none."""
    active = (faults.inject(kind, channel=path) for kind in HTTP_FAULTS)
    return next((one for one in active if one is not None), None)


def manner_of(faults: ExchangeFaults, active: ActiveFault) -> str:
    """Return how an acknowledgement is lost."""
    return active.fault.manner or ("dropped" if faults.flip_coin() else "timeout")


class InjectedError(RequestRejectedError):
    """What the exchange says in place of its answer."""

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(_REASONS[fault.kind], detail)
        self._fault = fault

    def status_for(self, own: int) -> int:
        """Return the status with which it is sent; `own`: the exchange's for such an error."""
        return _status(self._fault.kind, self._fault.status, own)


def error_of(active: ActiveFault, now: int) -> InjectedError:
    until = str((now + round(_seconds_left(active, now) * MICROSECONDS)) // 1_000)
    return InjectedError(active.fault, until if active.fault.kind in _NAMING_AN_END else "")


def _seconds_left(active: ActiveFault, now: int) -> float:
    return active.seconds_left(now) or (1.0 if active.fault.kind == "http_429" else _BAN_SECONDS)


def _status(kind: FaultKind, asked: int | None, own: int) -> int:
    """Return the requested status, else the one that the kind is named after, else the exchange's own."""
    if asked is not None:
        return asked
    if kind == "http_418":
        return 418
    return 503 if kind == "http_5xx" and own < 500 else own


def _edge_page(status: int) -> web.Response:
    """Return the page of a proxy in front of the exchange that cannot reach it."""
    page = f"<html><head><title>{status}</title></head><body><center><h1>{status}</h1></center><hr></body></html>"
    return web.Response(text=page, status=status, content_type="text/html")


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
