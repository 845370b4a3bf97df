"""Authentication of WebSockets: by a browser's ticket or by a key in a header.

The ticket is sent as a subprotocol: a browser cannot send headers there, and a URL would be logged.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from fastapi import WebSocket

from runtime.clock import SystemClock
from ui.auth.access_service import Access
from ui.auth.callers import Caller, rate_name
from ui.http.operator_requests import key_in
from ui.http.problems import ProblemError, problem_of
from ui.http.route_auth import CHALLENGE, caller_by_key, too_many
from ui.services.dashboard import dashboard_of

PROTOCOL = "arbitrage.live"
"""Chosen if the browser offers it; a browser that offers any expects one."""
TICKET_PREFIX = "ticket."


@dataclass(frozen=True, slots=True)
class Admission:
    """`subprotocol`: the one to accept the connection with."""

    caller: Caller
    subprotocol: str | None


async def admit(websocket: WebSocket) -> Admission | None:
    """Return the caller; None if the connection was rejected and closed. The Origin was checked before."""
    dashboard = dashboard_of(websocket.app)
    access = dashboard.access
    try:
        caller = await _caller(websocket, access)
        wait = access.requests.take(rate_name(caller))
        if wait:
            raise too_many(wait)
    except ProblemError as problem:
        await websocket.send_denial_response(problem_of(problem))
        return None
    offered: list[str] = websocket.scope.get("subprotocols") or []
    return Admission(caller, PROTOCOL if PROTOCOL in offered else None)


async def until_rejected(websocket: WebSocket, caller: Caller) -> None:
    """Close the connection and return once the key of `caller` is revoked or its sign-in has ended."""
    access = dashboard_of(websocket.app).access
    while access.still_holds(caller):
        await SystemClock().sleep(access.recheck_seconds)
    await websocket.close(1008, "The key was revoked.")


async def until_one_ends(*tasks: "asyncio.Task[Any]") -> None:
    """Wait for the first of what a connection does, and cancel the rest."""
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _caller(websocket: WebSocket, access: Access) -> Caller:
    """Return the caller. Raises ProblemError 401, 429."""
    address = websocket.client.host if websocket.client else ""
    offered: list[str] = websocket.scope.get("subprotocols") or []
    ticket = next((word.removeprefix(TICKET_PREFIX) for word in offered if word.startswith(TICKET_PREFIX)), None)
    if ticket is not None:
        caller = access.tickets.redeem(ticket)
        if caller is None or not access.still_holds(caller):
            wait = access.count_wrong_key(address)
            raise too_many(wait) if wait else ProblemError(401, "The ticket is unknown, used or expired.")
        return caller
    given = key_in(websocket.headers)
    known = await caller_by_key(access, given, address) if given else access.anybody(address)
    if known is None:
        raise ProblemError(401, "The stream needs a ticket from POST /api/tickets.", headers=CHALLENGE)
    return known
