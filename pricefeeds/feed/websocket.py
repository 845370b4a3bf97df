"""One WebSocket connection to an exchange: receives frames, sends texts, and is dropped when a pong does not come in
time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from exchanges.books.errors import FeedDroppedError
from exchanges.log_redaction import redacting_logger
from pricefeeds.errors import FeedStaleError
from runtime.loopback import is_near

OPEN_SECONDS = 5.0
CLOSE_SECONDS = 0.5
MAX_FRAME_BYTES = 8 << 20
"""Coinbase's first message holds a whole book of several MB."""


class WebSocketConnection:
    """Every failure is a FeedDroppedError."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def frames(self) -> AsyncIterator[bytes]:
        """Messages as received, not decoded; ends by raising."""
        try:
            while True:
                yield await self._socket.recv(decode=False)
        except (WebSocketException, OSError) as error:
            raise FeedDroppedError(f"the stream ended: {error}") from error

    async def send(self, text: str) -> None:
        try:
            await self._socket.send(text)
        except (WebSocketException, OSError) as error:
            raise FeedDroppedError(f"the stream took no message: {error}") from error

    async def ping(self, seconds: float) -> None:
        """Return with the pong. Raises FeedStaleError if none comes in time."""
        try:
            pong = asyncio.ensure_future(await self._socket.ping())
            # unlike a timeout, `wait` sees a pong that came while this process itself was suspended
            done, _ = await asyncio.wait({pong}, timeout=seconds)
            if not done:
                raise FeedStaleError(f"no pong within {seconds:g} s")
            await pong
        except (WebSocketException, OSError) as error:
            raise FeedDroppedError(f"the stream ended: {error}") from error


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[WebSocketConnection]:
    """Raise FeedDroppedError if it cannot connect. Closed within a second, whatever the exchange does."""
    proxy: Literal[True] | None = None if is_near(urlsplit(url).hostname or "") else True
    try:
        # No compression: it costs a tenth of a core and saves little. No keepalive: ConnectionLoop pings with the
        # feed's own limit.
        socket = await connect(
            url,
            compression=None,
            max_size=MAX_FRAME_BYTES,
            ping_interval=None,
            open_timeout=OPEN_SECONDS,
            close_timeout=CLOSE_SECONDS,
            proxy=proxy,
            # a signed subscription contains the API key
            logger=redacting_logger("pricefeeds.frames"),
        )
    except (WebSocketException, OSError, TimeoutError) as error:
        raise FeedDroppedError(f"cannot connect to {url}: {error}") from error
    try:
        yield WebSocketConnection(socket)
    finally:
        await socket.close()
