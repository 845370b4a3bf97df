"""Who may listen on a WebSocket. A browser brings a ticket, a program may bring its key in a header.

The ticket comes as a subprotocol: a browser cannot send headers there, and an address would stand in logs.
"""

from dataclasses import dataclass

from fastapi import WebSocket

from session.clock import SystemClock
from session.roles import Caller
from ui.auth.access_service import Access
from ui.http.problems import ProblemError, problem_of
from ui.http.route_roles import CHALLENGE, caller_by_key, rate_name, too_many
from ui.services.dashboard import Dashboard

PROTOCOL = "arbitrage.live"
"""Chosen where it is offered; a browser that offers any wants one back."""
TICKET_PREFIX = "ticket."
LOOKED_AGAIN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Admission:
    """`subprotocol`: what to accept the connection with."""

    caller: Caller
    subprotocol: str | None


async def admit(websocket: WebSocket) -> Admission | None:
    """Who it is; None where it was rejected, and the connection is closed then. The Origin was checked before."""
    dashboard: Dashboard = websocket.app.state.dashboard
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
    """Closes the connection and returns once `caller` may listen no more: its key was revoked, its sign-in is over."""
    dashboard: Dashboard = websocket.app.state.dashboard
    while dashboard.access.still_holds(caller):
        await SystemClock().sleep(LOOKED_AGAIN_SECONDS)
    await websocket.close(1008, "The key was revoked.")


async def _caller(websocket: WebSocket, access: Access) -> Caller:
    """Raises ProblemError 401, 429."""
    address = websocket.client.host if websocket.client else ""
    offered: list[str] = websocket.scope.get("subprotocols") or []
    ticket = next((word.removeprefix(TICKET_PREFIX) for word in offered if word.startswith(TICKET_PREFIX)), None)
    if ticket is not None:
        caller = access.tickets.redeem(ticket)
        if caller is None or not access.still_holds(caller):
            wait = access.guessed_wrong(address)
            raise too_many(wait) if wait else ProblemError(401, "The ticket is unknown, used or expired.")
        return caller
    key, bearer = websocket.headers.get("x-api-key"), websocket.headers.get("authorization", "")
    given = key or (bearer[7:].strip() if bearer[:7].lower() == "bearer " else None)
    known = await caller_by_key(access, given, address) if given else access.anybody(address)
    if known is None:
        raise ProblemError(401, "The stream needs a ticket from POST /api/tickets.", headers=CHALLENGE)
    return known
