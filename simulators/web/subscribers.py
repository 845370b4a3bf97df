"""WebSocket connections of one simulated exchange and their subscriptions."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from itertools import count

import orjson
from aiohttp import WSMsgType, web
from aiohttp.typedefs import Handler

from runtime.clock import Clock
from simulators.exchange_terms import SocketTerms
from simulators.faults.fault_kinds import ExchangeFaults
from simulators.faults.garbled_frames import Frame, FrameFaults, SymbolOf
from simulators.web.socket_terms import SocketLife, SocketStep

# A reader that is this many messages behind is cut off, as exchanges do.
_LONGEST_QUEUE = 2_000
# How long a client may take to answer a close; the whole server has two seconds to end.
_GOODBYE_SECONDS = 0.3
_TOO_SLOW = (1008, b"too slow")
_RESTART = (1012, b"service restart")
# Observed at Binance; no document names it.
_TOO_MANY = (1008, b"Too many requests")
_ENDS: Mapping[SocketStep, tuple[int, bytes]] = {
    "no pong": (1008, b"no pong"),
    "no subscription": (1008, b"no subscription"),
    "too old": (1001, b"going away"),
}
"""Codes that no document names."""


class Ping(bytes):
    """The payload of a ping frame, among the frames to be sent."""


class Outbox:
    """What is sent to one client, in order, by one writer."""

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        self.socket = socket
        self.goodbye: tuple[int, bytes] | None = None
        self._transport = transport
        self._queue: asyncio.Queue[Frame | None] = asyncio.Queue(_LONGEST_QUEUE)

    def end(self, goodbye: tuple[int, bytes]) -> None:
        """Close with this code and reason, without what is still to be sent."""
        if self.goodbye is None:
            self.goodbye = goodbye
            self.put(None)

    def put(self, frame: Frame | None) -> None:
        """Queue a frame; None only wakes the writer."""
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
        """Run until the client is gone, too slow, or sent away."""
        while not self.socket.closed and self.goodbye is None:
            frame = await self._queue.get()
            if isinstance(frame, Ping):
                await self.socket.ping(frame)
            elif isinstance(frame, str):
                await self.socket.send_str(frame)
            elif frame is not None:
                await self.socket.send_bytes(frame)
        code, reason = self.goodbye or _TOO_SLOW
        await self.socket.close(code=code, message=reason)


Notice = Callable[[], object]
"""The message that says that the connection is about to end."""


def no_notice() -> object:
    """Return no notice, for exchanges without one."""
    raise AssertionError("this exchange's terms have no notice")


class SubscriberConnection:
    """One client of one account, and the channels that it has subscribed to there."""

    def __init__(self, outbox: Outbox, faults: FrameFaults | None, life: SocketLife | None, notice: Notice) -> None:
        self.socket = outbox.socket
        self.channels: set[str] = set()
        self.life = life
        self.numbers = count()
        """Of the messages to this client, where the exchange numbers them."""
        self._outbox = outbox
        self._faults = faults
        self._notice = notice

    def of_another_account(self) -> "SubscriberConnection":
        """Return the same client, without its channels."""
        same = SubscriberConnection(self._outbox, self._faults, self.life, self._notice)
        same.numbers = self.numbers
        return same

    def is_one_too_many(self, now: int) -> bool:
        """Count a message of the client. Returns whether it is one too many, which ends the connection."""
        if self.life is None or self.life.may_send(now):
            return False
        self._outbox.end(_TOO_MANY)
        return True

    def keep(self, now: int) -> None:
        """Do what is due by the exchange's terms: a ping, the notice, the end."""
        if self.life is None:
            return
        if self._faults is not None and not self.life.is_hastened and self._faults.is_ended():
            self.life.hasten(now)
        step = self.life.step(now)
        if step == "ping":
            self._outbox.put(Ping(self.life.ping(now)))
        elif step == "notice":
            self.send(self._notice())
        elif step is not None:
            self._outbox.end(_ENDS[step])

    def send(self, message: object) -> None:
        """Send an answer to this client; stream faults do not apply."""
        self.send_text(orjson.dumps(message).decode())

    def send_text(self, text: str) -> None:
        """Send an answer that is no JSON, likewise."""
        self._outbox.put(text)

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
"""For a connection whose account is not known yet: message → the handler of another account that is named in it."""
_HANDED_OVER: web.RequestKey[tuple[SubscriberConnection, str]] = web.RequestKey("handed_over")
"""A client that was another account's, and the message that named this one."""


class Subscribers:
    """All connections of one account of an exchange."""

    def __init__(self) -> None:
        self._connections: set[SubscriberConnection] = set()
        self._faults: tuple[ExchangeFaults, SymbolOf] | None = None
        self._terms: tuple[SocketTerms, Clock] | None = None

    def apply_faults(self, faults: ExchangeFaults, symbol_of: SymbolOf) -> None:
        """Apply the exchange's faults to connections from now on; `symbol_of` names the market of a channel."""
        self._faults = (faults, symbol_of)

    @property
    def faults(self) -> ExchangeFaults | None:
        """The exchange's faults, once they apply."""
        return None if self._faults is None else self._faults[0]

    def live_by(self, terms: SocketTerms, clock: Clock) -> None:
        """Apply these terms to connections from now on; the clock is not the exchange's, which a fault may skew."""
        self._terms = (terms, clock)

    def keep(self) -> None:
        """Keep all connections; called about once a second."""
        if self._terms is not None:
            for connection in list(self._connections):
                connection.keep(self._terms[1].now())

    @property
    def count(self) -> int:
        return len(self._connections)

    def has(self, channel: str) -> bool:
        return any(channel in connection.channels for connection in self._connections)

    def symbols(self, symbol_of: SymbolOf) -> set[str]:
        """Return the markets that somebody listens to."""
        channels = {channel for connection in self._connections for channel in connection.channels}
        return {symbol for symbol in map(symbol_of, channels) if symbol is not None}

    def listeners(self, channel: str) -> list[SubscriberConnection]:
        return [connection for connection in self._connections if channel in connection.channels]

    def broadcast(self, channel: str, message: object) -> None:
        """Send a message, encoded once, to all who listen to `channel`."""
        listeners = self.listeners(channel)
        if listeners:
            text = orjson.dumps(message).decode()
            for connection in listeners:
                connection.publish_text(channel, text)

    async def serve(
        self,
        request: web.Request,
        on_message: OnMessage,
        greet: Callable[[SubscriberConnection], None] | None = None,
        *,
        notice: Notice = no_notice,
        is_counted: bool = True,
    ) -> web.WebSocketResponse:
        """Serve one connection: `greet` it, then `on_message` each of its messages, until one names another account:
        that one's handler reads on, and channels that were subscribed to here stay. `is_counted`: whether the limit of
        messages a second applies."""
        if _HANDED_OVER in request:
            connection, text = request[_HANDED_OVER]
            with self._listening(connection):
                _take(connection, text, on_message)
                await self._read(request, connection, on_message)
            return connection.socket
        async with _opened(request, self._faults, self._life(is_counted=is_counted), notice) as connection:
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
        """Read until the client is gone. Returns the handler of another account if that goes on with the connection."""
        async for message in connection.socket:
            if self._terms is not None and connection.is_one_too_many(self._terms[1].now()):
                continue
            if message.type is WSMsgType.TEXT and not connection.ignores_ping(message.data):
                other = request[HAND_OVER](message.data) if HAND_OVER in request else None
                if other is not None:
                    request[_HANDED_OVER] = connection.of_another_account(), message.data
                    return other
                _take(connection, message.data, on_message)
            elif message.type is WSMsgType.PING and not connection.ignores_ping():
                await connection.socket.pong(message.data)
            elif message.type is WSMsgType.PONG and connection.life is not None:
                connection.life.take_pong(bytes(message.data))
        return None

    def _life(self, *, is_counted: bool) -> SocketLife | None:
        if self._terms is None:
            return None
        terms, clock = self._terms
        return SocketLife(terms if is_counted else replace(terms, messages_a_second=None), clock.now())

    @contextmanager
    def _listening(self, connection: SubscriberConnection) -> Iterator[None]:
        self._connections.add(connection)
        try:
            yield
        finally:
            self._connections.discard(connection)

    def cut(self) -> None:
        """Break every connection at once."""
        for connection in list(self._connections):
            connection.cut()

    async def close(self) -> None:
        """Say goodbye as an exchange that restarts does."""
        code, reason = _RESTART
        goodbyes = [connection.socket.close(code=code, message=reason) for connection in self._connections]
        await asyncio.gather(*goodbyes, return_exceptions=True)


def _take(connection: SubscriberConnection, text: str, on_message: OnMessage) -> None:
    on_message(connection, text)
    if connection.life is not None and connection.channels:
        connection.life.has_subscribed = True


@asynccontextmanager
async def _opened(
    request: web.Request, faults: tuple[ExchangeFaults, SymbolOf] | None, life: SocketLife | None, notice: Notice
) -> AsyncIterator[SubscriberConnection]:
    """Return a prepared connection with its writer running, until the block ends."""
    # Deflate costs the reader a tenth of a core and saves nothing on loopback. Pongs are ours to send, or not.
    socket = web.WebSocketResponse(timeout=_GOODBYE_SECONDS, compress=False, max_msg_size=1 << 16, autoping=False)
    await socket.prepare(request)
    frame_faults = None if faults is None else FrameFaults(*faults)
    outbox = Outbox(socket, request.transport)
    connection = SubscriberConnection(outbox, frame_faults, life, notice)
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
