"""WebSocket connections of one simulated exchange and what they listen to."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import orjson
from aiohttp import WSMsgType, web

# A reader that is this many messages behind is cut off, as exchanges do.
_LONGEST_QUEUE = 2_000
# How long a client may take to answer a close; the whole server has two seconds to end.
_GOODBYE_SECONDS = 0.3


class Connection:
    """One client. Messages leave in the order they were sent, by one writer."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket = socket
        self.channels: set[str] = set()
        self._queue: asyncio.Queue[str] = asyncio.Queue(_LONGEST_QUEUE)
        self._overrun = False

    def send(self, message: object) -> None:
        self.send_text(orjson.dumps(message).decode())

    def send_text(self, text: str) -> None:
        try:
            self._queue.put_nowait(text)
        except asyncio.QueueFull:
            self._overrun = True

    async def write(self) -> None:
        """Runs until the client is gone or too slow."""
        while not self.socket.closed and not self._overrun:
            await self.socket.send_str(await self._queue.get())
        await self.socket.close(code=1008, message=b"too slow")


Hear = Callable[[Connection, str], None]


class Subscribers:
    """All connections of one exchange."""

    def __init__(self) -> None:
        self._connections: set[Connection] = set()

    def has(self, channel: str) -> bool:
        return any(channel in connection.channels for connection in self._connections)

    def broadcast(self, channel: str, message: object) -> None:
        """Encoded once for all who listen to `channel`."""
        listeners = [connection for connection in self._connections if channel in connection.channels]
        if listeners:
            text = orjson.dumps(message).decode()
            for connection in listeners:
                connection.send_text(text)

    async def serve(
        self, request: web.Request, hear: Hear, greet: Callable[[Connection], None] | None = None
    ) -> web.WebSocketResponse:
        """One connection's life: `greet` it, then `hear` each of its messages."""
        async with self._joined(request) as connection:
            if greet is not None:
                greet(connection)
            async for message in connection.socket:
                if message.type is WSMsgType.TEXT:
                    hear(connection, message.data)
            return connection.socket

    @asynccontextmanager
    async def _joined(self, request: web.Request) -> AsyncIterator[Connection]:
        """A prepared connection with its writer running, until the block ends."""
        # Deflate costs the reader a tenth of a core and saves nothing on loopback.
        socket = web.WebSocketResponse(timeout=_GOODBYE_SECONDS, compress=False, max_msg_size=1 << 16)
        await socket.prepare(request)
        connection = Connection(socket)
        self._connections.add(connection)
        writer = asyncio.create_task(_written(connection))
        try:
            yield connection
        finally:
            self._connections.discard(connection)
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)

    async def close(self) -> None:
        """Say goodbye as an exchange does that restarts."""
        goodbyes = [connection.socket.close(code=1012, message=b"service restart") for connection in self._connections]
        await asyncio.gather(*goodbyes, return_exceptions=True)


async def _written(connection: Connection) -> None:
    try:
        await connection.write()
    except ConnectionError:
        connection.channels.clear()
