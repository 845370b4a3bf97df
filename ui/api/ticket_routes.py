"""POST /api/tickets: lets a page, which cannot send a key there, open the WebSocket."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from typing_extensions import TypedDict

from ui.auth.socket_tickets import TICKET_SECONDS, Purpose
from ui.http.route_auth import Viewer, access_of
from ui.http.socket_admission import PROTOCOL, TICKET_PREFIX

router = APIRouter(tags=["access"])


class TicketRow(TypedDict):
    """Offer `protocols` as the WebSocket's subprotocols, once and within `expires_in` seconds."""

    ticket: str
    expires_in: int
    protocols: list[str]


For = Annotated[Purpose, Query(description="`live`: the stream; `page`: the dashboard's own pages only.")]


@router.post("/tickets", status_code=201)
async def ticket(request: Request, response: Response, caller: Viewer, purpose: For = "live") -> TicketRow:
    """Return a ticket for one use of `/ws/live` within 30 s, with the role of the caller. It grants nothing else."""
    issued = access_of(request).tickets.issue(caller, purpose)
    response.headers["Cache-Control"] = "no-store"
    return TicketRow(ticket=issued, expires_in=TICKET_SECONDS, protocols=[PROTOCOL, f"{TICKET_PREFIX}{issued}"])
