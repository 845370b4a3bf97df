"""Rows that others send by WebSocket: each message is one for the app's source.

The protocol has no acknowledgements. A ping is answered once all messages before it are kept, so whoever sends pings
knows what need not be sent again; what follows the last answered one may come twice.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from cep.apps.transports.message_queue import MessageQueue
from cep.apps.transports.ports import IncomingMessage, Intake
from runtime.tasks import run_until_first
from streams.errors import StreamError

MOST_BYTES = 1 << 20
"""Of one request or message, and of those of one connection that wait to be kept."""
MOST_SPEAKERS = 64
"""Of one path."""
MESSAGES = (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY)


@dataclass(slots=True)
class SocketRows:
    """What a path takes from all who are connected to it."""

    intake: Intake
    speakers: int = 0
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    def close(self) -> None:
        """End all connections; what is not kept yet is not acknowledged either."""
        self._ended.set()

    async def take(self, socket: web.WebSocketResponse, request: web.Request) -> None:
        """Open a connection, and keep what it says until it ends, or the path is closed."""
        # before anything is waited for: many that come together are counted, too
        self.speakers += 1
        try:
            await socket.prepare(request)
            await self._keep(socket, request.path)
        finally:
            self.speakers -= 1

    async def _keep(self, socket: web.WebSocketResponse, path: str) -> None:
        speaker = _Speaker(socket, path)
        code = aiohttp.WSCloseCode.GOING_AWAY
        queue = MessageQueue(self.intake, speaker.on_kept, MOST_BYTES)
        try:
            await run_until_first(queue.keep(speaker.read(queue)), self._ended.wait())
        except StreamError:
            code = aiohttp.WSCloseCode.TRY_AGAIN_LATER
        except ConnectionError:
            # the other side is gone
            pass
        await socket.close(code=code)


@dataclass(slots=True)
class _Speaker:
    socket: web.WebSocketResponse
    path: str
    _put: int = 0
    _kept: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def on_kept(self, marks: Sequence[Any]) -> None:
        self._kept += len(marks)
        self._changed.set()

    async def read(self, queue: MessageQueue) -> None:
        """Raise ConnectionError."""
        properties = {"path": self.path}
        async for message in self.socket:
            if message.type in MESSAGES:
                body = message.data.encode() if isinstance(message.data, str) else bytes(message.data)
                self._put += 1
                await queue.put(IncomingMessage(body, properties))
            elif message.type is aiohttp.WSMsgType.PING:
                await self._all_kept()
                await self.socket.pong(message.data)

    async def _all_kept(self) -> None:
        while self._kept < self._put:
            self._changed.clear()
            await self._changed.wait()
