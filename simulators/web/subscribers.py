"""WebSocket connections of one simulated exchange and their subscriptions."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import orjson
from aiohttp import WSMsgType, web
from aiohttp.typedefs import Handler

from simulators.faults.fault_frames import Frame, FrameFaults, SymbolOf
from simulators.faults.faults import ExchangeFaults

# A reader that is this many messages behind is cut off, as exchanges do.
_LONGEST_QUEUE = 2_000
# How long a client may take to answer a close; the whole server has two seconds to end.
_GOODBYE_SECONDS = 0.3
_TOO_SLOW = (1008, b"too slow")
_RESTART = (1012, b"service restart")


class Outbox:
    """What is sent to one client, in order, by one writer."""

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        self.socket = socket
        self.goodbye: tuple[int, bytes] | None = None
        self._transport = transport
        self._queue: asyncio.Queue[Frame] = asyncio.Queue(_LONGEST_QUEUE)

    def put(self, frame: Frame) -> None:
        try:
            self._queue.put_nowait(frame)
        except asyncio.QueueFull:
            if self.goodbye is None:
                # a client that reads nothing blocks even the close frame
                asyncio.get_running_loop().call_later(_GOODBYE_SECONDS, self.cut)
            self.goodbye = _TOO_SLOW

    def cut(self) -> None:
        """Close without a close frame."""
        if self._transport is not None:
            self._transport.abort()

    async def write(self) -> None:
        """Runs until the client is gone, too slow, or sent away."""
        while not self.socket.closed and self.goodbye is None:
            frame = await self._queue.get()
            if isinstance(frame, str):
                await self.socket.send_str(frame)
            else:
                await self.socket.send_bytes(frame)
        code, reason = self.goodbye or _TOO_SLOW
        await self.socket.close(code=code, message=reason)


class SubscriberConnection:
    """One client of one account, and the channels that it has subscribed to there."""

    def __init__(self, outbox: Outbox, faults: FrameFaults | None) -> None:
        self.socket = outbox.socket
        self.channels: set[str] = set()
        self._outbox = outbox
        self._faults = faults

    def of_another_account(self) -> "SubscriberConnection":
        """The same client, without its channels."""
        return SubscriberConnection(self._outbox, self._faults)

    def send(self, message: object) -> None:
        """Send an answer to this client; stream faults do not apply."""
        self._outbox.put(orjson.dumps(message).decode())

    def publish(self, channel: str, message: object) -> None:
        """Send a message of a channel; stream faults may apply."""
        self.publish_text(channel, orjson.dumps(message).decode())

    def publish_text(self, channel: str, text: str) -> None:
        if self._faults is None:
            self._outbox.put(text)
            return
        if self._faults.is_closed():
            self._outbox.goodbye = _RESTART
        for frame in self._faults.frames(channel, text):
            self._outbox.put(frame)

    def ignores_ping(self, text: str | None = None) -> bool:
        return self._faults is not None and self._faults.ignores_ping(text)

    def cut(self) -> None:
        """Close without a close frame."""
        self._outbox.cut()


OnMessage = Callable[[SubscriberConnection, str], None]
HAND_OVER: web.RequestKey[Callable[[str], Handler | None]] = web.RequestKey("hand_over")
"""Of a connection whose account is not known yet: message → the handler of another account that is named in it."""
_HANDED_OVER: web.RequestKey[tuple[SubscriberConnection, str]] = web.RequestKey("handed_over")
"""A client that was another account's, and the message that named this one."""


class Subscribers:
    """All connections of one account of an exchange."""

    def __init__(self) -> None:
        self._connections: set[SubscriberConnection] = set()
        self._faults: tuple[ExchangeFaults, SymbolOf] | None = None

    def apply_faults(self, faults: ExchangeFaults, symbol_of: SymbolOf) -> None:
        """Connections from now on show the exchange's faults; `symbol_of` names the market of a channel."""
        self._faults = (faults, symbol_of)

    @property
    def count(self) -> int:
        return len(self._connections)

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
        """One connection's life: `greet` it, then `on_message` each of its messages, until one names another account:
        the handler of that one reads on, and channels that were subscribed to here stay."""
        if _HANDED_OVER in request:
            connection, text = request[_HANDED_OVER]
            with self._listening(connection):
                on_message(connection, text)
                await self._read(request, connection, on_message)
            return connection.socket
        async with _opened(request, self._faults) as connection:
            with self._listening(connection):
                if greet is not None:
                    greet(connection)
                other = await self._read(request, connection, on_message)
                if other is not None:
                    await other(request)
            return connection.socket

    async def _read(
        self, request: web.Request, connection: SubscriberConnection, on_message: OnMessage
    ) -> Handler | None:
        """Until the client is gone; or the handler of another account, which goes on with the connection."""
        async for message in connection.socket:
            if message.type is WSMsgType.TEXT and not connection.ignores_ping(message.data):
                other = request[HAND_OVER](message.data) if HAND_OVER in request else None
                if other is not None:
                    request[_HANDED_OVER] = connection.of_another_account(), message.data
                    return other
                on_message(connection, message.data)
            elif message.type is WSMsgType.PING and not connection.ignores_ping():
                await connection.socket.pong(message.data)
        return None

    @contextmanager
    def _listening(self, connection: SubscriberConnection) -> Iterator[None]:
        self._connections.add(connection)
        try:
            yield
        finally:
            self._connections.discard(connection)

    def cut(self) -> None:
        """Every connection breaks at once."""
        for connection in list(self._connections):
            connection.cut()

    async def close(self) -> None:
        """Say goodbye as an exchange does that restarts."""
        code, reason = _RESTART
        goodbyes = [connection.socket.close(code=code, message=reason) for connection in self._connections]
        await asyncio.gather(*goodbyes, return_exceptions=True)


@asynccontextmanager
async def _opened(
    request: web.Request, faults: tuple[ExchangeFaults, SymbolOf] | None
) -> AsyncIterator[SubscriberConnection]:
    """A prepared connection with its writer running, until the block ends."""
    # Deflate costs the reader a tenth of a core and saves nothing on loopback. Pongs are ours to send, or not.
    socket = web.WebSocketResponse(timeout=_GOODBYE_SECONDS, compress=False, max_msg_size=1 << 16, autoping=False)
    await socket.prepare(request)
    frame_faults = None if faults is None else FrameFaults(*faults)
    outbox = Outbox(socket, request.transport)
    connection = SubscriberConnection(outbox, frame_faults)
    writer = asyncio.create_task(_written(outbox, connection))
    try:
        yield connection
    finally:
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)


async def _written(outbox: Outbox, connection: SubscriberConnection) -> None:
    try:
        await outbox.write()
    except ConnectionError:
        connection.channels.clear()
