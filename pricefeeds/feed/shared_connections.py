"""The streams of many symbols over few connections: each symbol has a line of its own in one of them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager

from exchanges.books.errors import FeedDroppedError, MessageLostError
from exchanges.books.stream_sharing import StreamSharing, merged_requests
from exchanges.credentials import Credentials
from market.instruments.markets import Market
from market.time_units import MICROSECONDS
from pricefeeds.feed.websocket import WebSocketConnection, connected
from runtime.clock import SystemClock

COLLECT_SECONDS = 0.05
"""Symbols that start together subscribe together."""

_PING_SHARE = 2 / 3
"""Share of the time that a pong may take, at least, from one ping of a connection to the next: as long as each line
waits between two. Exchanges count pings among the messages that a connection may send."""

log = logging.getLogger("pricefeeds")


class SymbolLine:
    """One symbol's part of a shared connection: its own frames, and those that name no symbol."""

    def __init__(self, connection: "SharedConnection") -> None:
        self._connection = connection
        self._arrived: asyncio.Queue[bytes | FeedDroppedError] = asyncio.Queue()

    def put(self, frame: bytes | FeedDroppedError) -> None:
        self._arrived.put_nowait(frame)

    async def frames(self) -> AsyncIterator[bytes]:
        while True:
            frame = await self._arrived.get()
            if isinstance(frame, MessageLostError):
                raise MessageLostError(frame.detail)
            if isinstance(frame, FeedDroppedError):
                raise FeedDroppedError(str(frame))
            yield frame

    async def send(self, text: str) -> None:
        """Return at once; a failure ends `frames`."""
        self._connection.send(text)

    async def ping(self, seconds: float) -> None:
        await self._connection.ping(seconds)


class SharedConnection:
    """One WebSocket connection and the lines in it; it lasts until the stream ends, or until `close`."""

    def __init__(self, address: str, sharing: StreamSharing) -> None:
        self._address = address
        self._sharing = sharing
        self._lines: dict[str, SymbolLine] = {}
        self._left: set[str] = set()
        """Streams whose line was closed. Their late messages must not reach a new line, so that is in another
        connection."""
        self._greeting: list[bytes] = []
        """What came before the first request: it concerns every line, whenever it joins."""
        self._requests: list[str] = []
        self._sender: asyncio.Task[None] | None = None
        self._pong: asyncio.Task[None] | None = None
        self._next_ping_at = 0
        """Microseconds."""
        self._last_number: int | None = None
        """Of the messages, if they are numbered."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._socket: WebSocketConnection | None = None
        self._opened: asyncio.Future[WebSocketConnection] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        """Raise FeedDroppedError if it cannot connect."""
        self._start(self._read())
        await self._opened

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def is_idle(self) -> bool:
        return not self._lines

    def has_room_for(self, stream: str) -> bool:
        is_new = stream not in self._lines and stream not in self._left
        return self._socket is not None and is_new and len(self._lines) < self._sharing.symbols

    def join(self, stream: str) -> SymbolLine:
        line = self._lines[stream] = SymbolLine(self)
        for frame in self._greeting:
            line.put(frame)
        return line

    def leave(self, stream: str, requests: Iterable[str]) -> None:
        """Leave a stream; `requests` end the subscription."""
        del self._lines[stream]
        self._left.add(stream)
        if self._lines:
            for text in requests:
                self.send(text)

    def send(self, text: str) -> None:
        """Return at once; if it fails, so does reading."""
        self._requests.append(text)
        if self._sender is None or self._sender.done():
            self._sender = self._start(self._send_all())

    async def ping(self, seconds: float) -> None:
        """One ping serves all who wait for one, also if it has to wait itself. Raises as WebSocketConnection.ping
        does."""
        if self._pong is None or self._pong.done():
            if self._socket is None:
                raise FeedDroppedError("the stream ended")
            self._pong = self._start(self._spaced_ping(self._socket, seconds))
        await asyncio.shield(self._pong)

    async def _spaced_ping(self, socket: WebSocketConnection, seconds: float) -> None:
        clock = SystemClock()
        # never longer than between two pings, if the machine's clock was set back
        wait = min((self._next_ping_at - clock.now()) / MICROSECONDS, seconds * _PING_SHARE)
        await clock.sleep(max(0.0, wait))
        self._next_ping_at = clock.now() + round(seconds * _PING_SHARE * MICROSECONDS)
        await socket.ping(seconds)

    async def _read(self) -> None:
        ended = FeedDroppedError("the stream ended")
        try:
            async with connected(self._address) as self._socket:
                self._opened.set_result(self._socket)
                async for frame in self._socket.frames():
                    if self._is_new(frame):
                        self._dispatch(frame)
        except FeedDroppedError as error:
            ended = error
        finally:
            self._socket = None
            for line in self._lines.values():
                line.put(ended)
            if not self._opened.done():
                self._opened.set_exception(ended)

    def _is_new(self, frame: bytes) -> bool:
        """Return whether it is not the last message again. Raises MessageLostError if one is missing before it."""
        number, last = self._sharing.number_in(frame), self._last_number
        if number is None:
            # it may be a corrupted one
            return True
        self._last_number = number
        if last is not None and number not in (last, last + 1):
            raise MessageLostError(f"message {number} of the connection after {last}")
        return number != last

    def _dispatch(self, frame: bytes) -> None:
        """To the line of the symbol that the frame names.

        A frame that names none concerns all: it may be a corrupted message of any of them.
        """
        stream = self._sharing.stream_in(frame)
        line = None if stream is None else self._lines.get(stream)
        if line is not None:
            line.put(frame)
        elif stream not in self._left:
            if self._sender is None:
                self._greeting.append(frame)
            for each in self._lines.values():
                each.put(frame)

    async def _send_all(self) -> None:
        await SystemClock().sleep(COLLECT_SECONDS)
        while self._requests:
            requests, self._requests = self._requests, []
            for text in merged_requests(requests, self._sharing.symbols_field):
                if self._socket is None:
                    return
                await self._socket.send(text)
                await SystemClock().sleep(self._sharing.seconds_between_requests)

    def _start(self, part: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(part)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[None]) -> None:
        """Raise a lost connection in every line; anything else is a fault of ours and must be seen."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, FeedDroppedError):
            log.error("a shared connection failed", exc_info=error)


class SharedConnections:
    """All connections to one exchange."""

    def __init__(self, address: str, sharing: StreamSharing) -> None:
        self._address = address
        self._sharing = sharing
        self._connections: set[SharedConnection] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()
        self._failures_so_far = 0

    @asynccontextmanager
    async def line(self, market: Market, keys: Credentials | None) -> AsyncIterator[SymbolLine]:
        """Raise FeedDroppedError if it cannot connect."""
        stream = self._sharing.stream_name(market)
        connection = await self._with_room_for(stream)
        try:
            yield connection.join(stream)
        finally:
            connection.leave(stream, self._sharing.leave(market, keys))
            if connection.is_idle:
                self._close(connection)

    async def close(self) -> None:
        for connection in list(self._connections):
            self._close(connection)
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _with_room_for(self, stream: str) -> SharedConnection:
        failures = self._failures_so_far
        async with self._opening:
            for connection in self._connections:
                if connection.has_room_for(stream):
                    return connection
            if self._failures_so_far > failures:
                # the attempt that this symbol waited for failed: not one attempt more for each symbol
                raise FeedDroppedError("no connection could be opened")
            return await self._opened()

    async def _opened(self) -> SharedConnection:
        connection = SharedConnection(self._address, self._sharing)
        self._connections.add(connection)
        try:
            await connection.open()
        except BaseException as error:
            self._failures_so_far += isinstance(error, FeedDroppedError)
            self._close(connection)
            raise
        return connection

    def _close(self, connection: SharedConnection) -> None:
        """Do not wait: a silent exchange takes its time."""
        self._connections.discard(connection)
        task = asyncio.create_task(connection.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


@asynccontextmanager
async def shared_connections(address: str, sharing: StreamSharing) -> AsyncIterator[SharedConnections]:
    """Open shared connections, closed with the block."""
    connections = SharedConnections(address, sharing)
    try:
        yield connections
    finally:
        await connections.close()
