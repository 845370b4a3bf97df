"""One socket of a simulated exchange, read frame by frame, without ccxt."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.exchanges.served import Served, served

_DEADLINE = 20
NO_REQUESTS = (
    "",
    "{",
    "[]",
    "null",
    '{"method": []}',
    '{"method": "subscribe"}',
    '{"method": "subscribe", "params": []}',
    '{"method": "subscribe", "params": {"channel": []}}',
    '{"method": "subscribe", "params": {"channel": {"a": 1}, "symbol": [[]]}}',
    '{"method": "unsubscribe", "params": {"channel": null}}',
)
"""Texts that mean nothing to any exchange with a `method` and `params` in its requests."""
Message = dict[str, Any]


class Listener:
    """`kind` is the field that says what a message is. The world steps whenever nothing is on its way."""

    def __init__(
        self, session: aiohttp.ClientSession, socket: aiohttp.ClientWebSocketResponse, outside: Served, kind: str
    ) -> None:
        self.session = session
        self.socket = socket
        self.outside = outside
        self.heard: list[Message] = []
        self._kind = kind

    async def next(self, *kinds: str | None) -> Message:
        """Return the next message of one of these kinds; None is one without."""
        while True:
            message = await self.received()
            self.heard.append(message)
            if message.get(self._kind) in kinds:
                return message

    async def asked(self, question: object, *kinds: str) -> Message:
        """Return the next message of one of these kinds after a question."""
        await self.socket.send_json(question)
        return await self.next(*kinds)

    async def received(self) -> Message:
        """Return the next message of any kind."""
        for _ in range(_DEADLINE * 100):
            try:
                message: Message = await self.socket.receive_json(timeout=0.01)
            except TimeoutError:
                self.outside.round()
            else:
                return message
        pytest.fail("nothing more is said")


@asynccontextmanager
async def listening(home: Path, exchange: str, kind: str, path: str = "/ws") -> AsyncIterator[Listener]:
    async with (
        served(home) as outside,
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{outside.url}/{exchange}{path}") as socket,
    ):
        yield Listener(session, socket, outside, kind)
