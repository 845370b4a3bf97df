"""The WebSocket /ws/live. Its messages: `ui.live.messages`. The Origin is checked before, in `ui.api.access`."""

import asyncio
from contextlib import suppress

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from ui.dashboard import Dashboard
from ui.live.clients import LiveClient

router = APIRouter()


@router.websocket("/ws/live")
async def live(websocket: WebSocket) -> None:
    """Pushes until the client leaves; what it sends is not read."""
    dashboard: Dashboard = websocket.app.state.dashboard
    await websocket.accept()
    async with dashboard.hub.client() as client:
        sending = asyncio.create_task(_send(websocket, dashboard, client))
        leaving = asyncio.create_task(_until_gone(websocket))
        try:
            await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)


async def _send(websocket: WebSocket, dashboard: Dashboard, client: LiveClient) -> None:
    with suppress(WebSocketDisconnect):
        while True:
            message = await client.next()
            await websocket.send_text(dashboard.hub.snapshot_message() if message is None else message)


async def _until_gone(websocket: WebSocket) -> None:
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass
