"""Rows to and from servers that keep a connection open: WebSocket (RFC 6455) both ways, and server-sent events in.

Neither has acknowledgements. A row that is sent counts as taken once the server has answered the ping behind it, so
that it has read all before. What a server says while nobody is connected is lost; one of events goes on behind the last
id that is kept, if it gives ids.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from cep.apps.ends.checked_connections import HttpSessions
from cep.apps.ends.http_addresses import mapped_url, origin_of
from cep.apps.ends.sink_ends import SocketTarget
from cep.apps.ends.source_ends import ServerEvents, SocketMessages
from cep.apps.formats.row_formats import RowWriter
from cep.apps.hosts.http_caller import call_reason
from cep.apps.transports.event_lines import MOST_EVENT_BYTES, EventLines
from cep.apps.transports.file_receiver import SourcePlace
from cep.apps.transports.http_sender import HttpTerms
from cep.apps.transports.message_queue import MessageQueue
from cep.apps.transports.ports import IncomingMessage, Intake, NotTakenError, OutgoingRow, RowsRefusedError

ROWS_AT_ONCE = 100
MOST_MESSAGE_BYTES = 1 << 20
ANSWER_SECONDS = 10.0
HEARTBEAT_SECONDS = 20.0
SILENCE_SECONDS = 300.0
"""Of a server of events, which keeps a quiet stream open with comments (HTML Standard, 9.2.7)."""
FAILURES = (aiohttp.ClientError, TimeoutError, OSError, ValueError)
ENDS = (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)

Socket = aiohttp.ClientWebSocketResponse


class SocketSender:
    """A `SinkSender`. Its one destination is the server."""

    most_rows = ROWS_AT_ONCE
    linger_seconds = 0.0

    def __init__(self, target: SocketTarget, writer: RowWriter, terms: HttpTerms) -> None:
        self._target, self._writer, self._terms = target, writer, terms
        self._sessions = HttpSessions(follows_redirects=False)
        self._socket: Socket | None = None

    def destination(self, values: Mapping[str, Any]) -> str:
        return self._target.url

    def server(self, destination: str) -> str:
        return origin_of(destination)

    def shown(self, destination: str) -> str:
        return origin_of(destination)

    async def close(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()
        await self._sessions.close()

    async def send(self, destination: str, rows: Sequence[OutgoingRow]) -> None:
        messages = [self._message(row) for row in rows]
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                socket = await self._opened()
                for message in messages:
                    await socket.send_str(message)
                await _answered(socket, rows[-1].id.encode()[-100:])
        except FAILURES as error:
            await self.close()
            raise NotTakenError(call_reason(error)) from None
        except NotTakenError:
            await self.close()
            raise

    async def _opened(self) -> Socket:
        if self._socket is None or self._socket.closed:
            self._socket = await _connected(self._sessions, self._target.url, self._target.headers, self._terms)
        return self._socket

    def _message(self, row: OutgoingRow) -> str:
        try:
            return self._writer.write(row.values).decode()
        except ValueError as error:
            raise RowsRefusedError(str(error)) from None


@dataclass(slots=True)
class SocketReceiver:
    """A `Receiver` of a WebSocket's messages."""

    messages: SocketMessages
    terms: HttpTerms

    async def run(self, intake: Intake) -> None:
        queue = MessageQueue(intake, lambda marks: None)
        async with HttpSessions(follows_redirects=False) as sessions:
            try:
                socket = await _connected(
                    sessions, self.messages.url, self.messages.headers, self.terms, HEARTBEAT_SECONDS
                )
                await queue.keep(self._read(socket, queue))
            except FAILURES as error:
                raise NotTakenError(call_reason(error)) from None

    async def _read(self, socket: Socket, queue: MessageQueue) -> None:
        properties = {"url": origin_of(self.messages.url)}
        async for message in socket:
            if message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                body = message.data.encode() if isinstance(message.data, str) else message.data
                await queue.put(IncomingMessage(body, properties))
        raise NotTakenError(f"{origin_of(self.messages.url)} has closed the connection ({socket.close_code})")


@dataclass(slots=True)
class EventReceiver:
    """A `Receiver` of server-sent events."""

    events: ServerEvents
    terms: HttpTerms
    place: SourcePlace

    async def run(self, intake: Intake) -> None:
        kept = self.place.load()
        lines = EventLines(kept if isinstance(kept, str) else "")
        queue = MessageQueue(intake, self._keep)
        async with HttpSessions() as sessions:
            try:
                await self._follow(sessions, lines, queue)
            except FAILURES as error:
                raise NotTakenError(call_reason(error)) from None

    def _keep(self, ids: Sequence[str]) -> None:
        if ids[-1]:
            self.place.save(ids[-1])

    async def _follow(self, sessions: HttpSessions, lines: EventLines, queue: MessageQueue) -> None:
        url, origin = mapped_url(self.events.url, self.terms.addresses), origin_of(self.events.url)
        own = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        last = {"Last-Event-ID": lines.id} if lines.id else {}
        async with sessions.session_for(url).get(
            url,
            headers={**own, **last, **dict(self.events.headers), **self.terms.headers.get(origin, {})},
            allow_redirects=False,
            ssl=self.terms.trusted.get(origin, True),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=ANSWER_SECONDS, sock_read=SILENCE_SECONDS),
            # the longest line
            read_bufsize=MOST_EVENT_BYTES,
        ) as response:
            kind = response.content_type
            if response.status != 200 or kind != "text/event-stream":
                raise RowsRefusedError(f"{origin} answers {response.status} ({kind}) and no stream of events")
            await queue.keep(self._read(response, lines, queue))

    async def _read(self, response: aiohttp.ClientResponse, lines: EventLines, queue: MessageQueue) -> None:
        # raises ValueError for a line that is too long
        async for line in response.content:
            event = lines.take(line.decode(errors="replace").rstrip("\r\n"))
            if event is not None:
                properties = {"url": origin_of(self.events.url), "event": event.event, "id": event.id}
                await queue.put(IncomingMessage(event.data.encode(), properties), event.id)
        raise NotTakenError(f"{origin_of(self.events.url)} has ended the stream")


async def _connected(
    sessions: HttpSessions,
    url: str,
    headers: Sequence[tuple[str, str]],
    terms: HttpTerms,
    heartbeat: float | None = None,
) -> Socket:
    """Raise FAILURES. `heartbeat`: how often the server is asked whether it is there, seconds; None: who sends asks."""
    mapped, origin = mapped_url(url, terms.addresses), origin_of(url)
    return await sessions.session_for(mapped).ws_connect(
        mapped,
        headers={**dict(headers), **terms.headers.get(origin, {})},
        autoping=heartbeat is not None,
        heartbeat=heartbeat,
        max_msg_size=MOST_MESSAGE_BYTES,
        ssl=terms.trusted.get(origin, True),
    )


async def _answered(socket: Socket, mark: bytes) -> None:
    """Return once the server has answered the ping with this mark."""
    await socket.ping(mark)
    while True:
        message = await socket.receive()
        if message.type is aiohttp.WSMsgType.PONG and bytes(message.data) == mark:
            return
        if message.type is aiohttp.WSMsgType.PING:
            await socket.pong(message.data)
        if message.type in ENDS:
            raise NotTakenError(f"the server has closed the connection ({socket.close_code})")
