"""The application on a real socket, for what only a WebSocket shows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from ui.server.web_server import CLOSING_SECONDS, WebServer, bound_socket, uvicorn_config


@asynccontextmanager
async def listening(app: FastAPI, port: int = 0) -> AsyncIterator[str]:
    """Its address, once it serves; `port` 0 is any free one."""
    with bound_socket("127.0.0.1", port) as listener:
        server = WebServer(uvicorn_config(app))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await server.wait_started(serving)
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await asyncio.wait([serving], timeout=CLOSING_SECONDS + 5)
