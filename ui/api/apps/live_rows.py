"""The WebSocket with the rows of one stream of a running app, as they come."""

import asyncio
from collections import deque
from contextlib import aclosing, suppress

import orjson
from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from runtime.app_door import AppDoor, AppDoorRefusedError, AppDoorSilentError
from runtime.clock import SystemClock
from store.records.apps import is_app_name
from ui.api.apps.row_routes import LONGEST_STREAM, AppRowRow, row_seen
from ui.http.socket_admission import admit, until_one_ends, until_rejected
from ui.services.dashboard import dashboard_of

router = APIRouter(tags=["apps"])

SEND_SECONDS = 0.2
MOST_WAITING = 1_000
"""Rows between two messages; of more the newest are sent."""
NOT_THERE = 1011
REFUSED = 1008


@router.websocket("/api/apps/{name}/streams/{stream}/live")
async def live_rows(websocket: WebSocket, name: str, stream: str) -> None:
    """Send `{"rows": […]}`, at most five times a second, until the client disconnects or the app ends."""
    admission = await admit(websocket)
    if admission is None:
        return
    await websocket.accept(admission.subprotocol)
    if not is_app_name(name):
        await websocket.close(REFUSED, "There is no such app.")
        return
    waiting: deque[AppRowRow] = deque(maxlen=MOST_WAITING)
    following = asyncio.create_task(_follow(websocket, name, stream[:LONGEST_STREAM], waiting))
    await until_one_ends(
        following,
        asyncio.create_task(_send(websocket, waiting)),
        asyncio.create_task(_until_left(websocket)),
        asyncio.create_task(until_rejected(websocket, admission.caller)),
    )
    if following.done() and not following.cancelled():
        with suppress(RuntimeError):
            code, words = following.result()
            await websocket.close(code, words)


async def _follow(websocket: WebSocket, name: str, stream: str, waiting: deque[AppRowRow]) -> tuple[int, str]:
    """Collect rows; return why there are no more, for the end of the connection."""
    try:
        rows = AppDoor(dashboard_of(websocket.app).session.home).follow(name, stream)
        async with aclosing(rows):
            async for row in rows:
                waiting.append(row_seen(row))
    except AppDoorSilentError as error:
        return NOT_THERE, _short(str(error))
    except AppDoorRefusedError as error:
        return REFUSED, _short(str(error))
    return NOT_THERE, "The app has ended."


async def _send(websocket: WebSocket, waiting: deque[AppRowRow]) -> None:
    with suppress(WebSocketDisconnect):
        while True:
            if waiting:
                rows = list(waiting)
                waiting.clear()
                await websocket.send_text(orjson.dumps({"rows": rows}).decode())
            await SystemClock().sleep(SEND_SECONDS)


async def _until_left(websocket: WebSocket) -> None:
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


def _short(words: str) -> str:
    """Return what fits into a close frame."""
    return words.encode()[:120].decode(errors="ignore")
