"""The live stream: the WebSocket /ws/live, and GET /api/stream for programs. Messages: `ui.stream.live_messages`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Depends, Header, Query, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse

from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now
from ui.auth.access_service import Access
from ui.auth.callers import Caller
from ui.http.known_markets import known_markets
from ui.http.known_parameters import known_parameters
from ui.http.route_auth import REJECTED, Viewer, access_of
from ui.http.socket_admission import admit, until_one_ends, until_rejected
from ui.services.dashboard import dashboard_of
from ui.stream.broadcaster import Broadcaster
from ui.stream.live_clients import LiveClient

MAX_SEQUENCE = 2**53
RETRY_MILLISECONDS = 1_000
CHOICE_SECONDS = 0.1
LONGEST_CHOICE = 100
"""Characters of a message that names an asset."""

router = APIRouter(tags=["stream"])

Since = Annotated[
    int | None,
    Query(ge=0, le=MAX_SEQUENCE, description="Sequence of the last message received: every trade since then is sent."),
]
LastEventId = Annotated[str | None, Header(description="As `since`; sent by an event source when it reconnects.")]


Shown = Annotated[
    str | None,
    Query(max_length=20, description="The asset whose quotes, charts and spreads are sent; default: every asset."),
]

Only = Annotated[Literal["trades"] | None, Query(description="`trades`: after the snapshot nothing but trades.")]


@router.websocket("/ws/live")
async def live(websocket: WebSocket, since: Since = None, base: Shown = None, only: Only = None) -> None:
    """Send until the client disconnects; the client may say which asset it shows now."""
    broadcaster, admission = _broadcaster(websocket), await admit(websocket)
    if admission is None:
        return
    await websocket.accept(admission.subprotocol)
    # a page brings a ticket, and names the protocol with it
    is_page = admission.subprotocol is not None
    async with broadcaster.client(since, base=base, is_page=is_page, trades_alone=only is not None) as client:
        sending = asyncio.create_task(_send(websocket, broadcaster, client))
        leaving = asyncio.create_task(_follow_choices(websocket, client))
        rejected = asyncio.create_task(until_rejected(websocket, admission.caller))
        await until_one_ends(sending, leaving, rejected)


@router.get(
    "/api/stream",
    response_class=StreamingResponse,
    dependencies=[Depends(known_parameters), Depends(known_markets)],
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}, **REJECTED},
)
async def stream(
    request: Request, caller: Viewer, since: Since = None, base: Shown = None, last_event_id: LastEventId = None
) -> StreamingResponse:
    """Send the messages of `/ws/live` as server-sent events until the key is revoked: `event` is the message's type,
    `id` its sequence. An unknown Last-Event-ID is ignored."""
    heard = _sequence(last_event_id) if last_event_id else since
    events = _events(access_of(request), caller, _broadcaster(request), heard, base)
    return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _events(
    access: Access, caller: Caller, broadcaster: Broadcaster, since: int | None, base: str | None
) -> AsyncIterator[bytes]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
    checked_at = steady_now()
    async with broadcaster.client(since, base=base) as client:
        # at least one message comes each second
        async for message in broadcaster.messages(client):
            if steady_now() - checked_at > access.recheck_seconds * MICROSECONDS:
                checked_at = steady_now()
                if not access.still_holds(caller):
                    return
            yield message.event


async def _send(websocket: WebSocket, broadcaster: Broadcaster, client: LiveClient) -> None:
    with suppress(WebSocketDisconnect):
        async for message in broadcaster.messages(client):
            await websocket.send_text(message.text)


async def _follow_choices(websocket: WebSocket, client: LiveClient) -> None:
    """Read the client's choices of an asset until it disconnects. Each choice costs a snapshot, so faster ones wait."""
    while (message := await websocket.receive())["type"] != "websocket.disconnect":
        base = _base_in(message.get("text"))
        if base is not None:
            client.show(base)
            await SystemClock().sleep(CHOICE_SECONDS)


def _base_in(text: object) -> str | None:
    """Return the asset that a client's message names; None for any other message, which is ignored."""
    if not isinstance(text, str) or len(text) > LONGEST_CHOICE:
        return None
    with suppress(orjson.JSONDecodeError):
        choice = orjson.loads(text)
        base = choice.get("base") if isinstance(choice, dict) else None
        return base if isinstance(base, str) else None
    return None


def _broadcaster(connection: Request | WebSocket) -> Broadcaster:
    return dashboard_of(connection.app).hub.broadcaster


def _sequence(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_SEQUENCE))
    return min(int(text), MAX_SEQUENCE) if is_number else None
