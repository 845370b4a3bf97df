"""WebSocket connections of one simulated exchange and their subscriptions."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import orjson
from aiohttp import WSMsgType, web

from simulators.faults.fault_frames import Frame, FrameFaults, SymbolOf
from simulators.faults.faults import ExchangeFaults

# A reader that is this many messages behind is cut off, as exchanges do.
_LONGEST_QUEUE = 2_000
# How long a client may take to answer a close; the whole server has two seconds to end.
_GOODBYE_SECONDS = 0.3
_TOO_SLOW = (1008, b"too slow")
_RESTART = (1012, b"service restart")


class SubscriberConnection:
    """One client. Messages leave in the order they were sent, by one writer."""

    def __init__(
        self, socket: web.WebSocketResponse, transport: asyncio.Transport | None, faults: FrameFaults | None
    ) -> None:
        self.socket = socket
        self.channels: set[str] = set()
        self._transport = transport
        self._faults = faults
        self._queue: asyncio.Queue[Frame] = asyncio.Queue(_LONGEST_QUEUE)
        self._goodbye: tuple[int, bytes] | None = None

    def send(self, message: object) -> None:
        """Send an answer to this client; stream faults do not apply."""
        self._put(orjson.dumps(message).decode())

    def publish(self, channel: str, message: object) -> None:
        """Send a message of a channel; stream faults may apply."""
        self.publish_text(channel, orjson.dumps(message).decode())

    def publish_text(self, channel: str, text: str) -> None:
        if self._faults is None:
            self._put(text)
            return
        if self._faults.is_closed():
            self._goodbye = _RESTART
        for frame in self._faults.frames(channel, text):
            self._put(frame)

    def ignores_ping(self, text: str | None = None) -> bool:
        return self._faults is not None and self._faults.ignores_ping(text)

    def cut(self) -> None:
        """Close without a close frame."""
        if self._transport is not None:
            self._transport.abort()

    async def write(self) -> None:
        """Runs until the client is gone, too slow, or sent away."""
        while not self.socket.closed and self._goodbye is None:
            frame = await self._queue.get()
            if isinstance(frame, str):
                await self.socket.send_str(frame)
            else:
                await self.socket.send_bytes(frame)
        code, reason = self._goodbye or _TOO_SLOW
        await self.socket.close(code=code, message=reason)

    def _put(self, frame: Frame) -> None:
        try:
            self._queue.put_nowait(frame)
        except asyncio.QueueFull:
            if self._goodbye is None:
                # a client that reads nothing blocks even the close frame
                asyncio.get_running_loop().call_later(_GOODBYE_SECONDS, self.cut)
            self._goodbye = _TOO_SLOW


OnMessage = Callable[[SubscriberConnection, str], None]


class Subscribers:
    """All connections of one exchange."""

    def __init__(self) -> None:
        self._connections: set[SubscriberConnection] = set()
        self._faults: tuple[ExchangeFaults, SymbolOf] | None = None

    def apply_faults(self, faults: ExchangeFaults, symbol_of: SymbolOf) -> None:
        """Connections from now on show the exchange's faults; `symbol_of` names the market of a channel."""
        self._faults = (faults, symbol_of)

    def has(self, channel: str) -> bool:
        return any(channel in connection.channels for connection in self._connections)

    def symbols(self, symbol_of: SymbolOf) -> set[str]:
        """The markets that somebody listens to."""
        channels = {channel for connection in self._connections for channel in connection.channels}
        return {symbol for symbol in map(symbol_of, channels) if symbol is not None}

    def broadcast(self, channel: str, message: object) -> None:
        """Encoded once for all who listen to `channel`."""
        listeners = [connection for connection in self._connections if channel in connection.channels]
        if listeners:
            text = orjson.dumps(message).decode()
            for connection in listeners:
                connection.publish_text(channel, text)

    async def serve(
        self, request: web.Request, on_message: OnMessage, greet: Callable[[SubscriberConnection], None] | None = None
    ) -> web.WebSocketResponse:
        """One connection's life: `greet` it, then `on_message` each of its messages."""
        async with self._joined(request) as connection:
            if greet is not None:
                greet(connection)
            async for message in connection.socket:
                if message.type is WSMsgType.TEXT and not connection.ignores_ping(message.data):
                    on_message(connection, message.data)
                elif message.type is WSMsgType.PING and not connection.ignores_ping():
                    await connection.socket.pong(message.data)
            return connection.socket

    @asynccontextmanager
    async def _joined(self, request: web.Request) -> AsyncIterator[SubscriberConnection]:
        """A prepared connection with its writer running, until the block ends."""
        # Deflate costs the reader a tenth of a core and saves nothing on loopback. Pongs are ours to send, or not.
        socket = web.WebSocketResponse(timeout=_GOODBYE_SECONDS, compress=False, max_msg_size=1 << 16, autoping=False)
        await socket.prepare(request)
        faults = None if self._faults is None else FrameFaults(*self._faults)
        connection = SubscriberConnection(socket, request.transport, faults)
        self._connections.add(connection)
        writer = asyncio.create_task(_written(connection))
        try:
            yield connection
        finally:
            self._connections.discard(connection)
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)

    def cut(self) -> None:
        """Every connection breaks at once."""
        for connection in list(self._connections):
            connection.cut()

    async def close(self) -> None:
        """Say goodbye as an exchange does that restarts."""
        code, reason = _RESTART
        goodbyes = [connection.socket.close(code=code, message=reason) for connection in self._connections]
        await asyncio.gather(*goodbyes, return_exceptions=True)


async def _written(connection: SubscriberConnection) -> None:
    try:
        await connection.write()
    except ConnectionError:
        connection.channels.clear()
