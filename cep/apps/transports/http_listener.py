"""Takes messages by HTTP for all apps of a process: `POST` to the path that a source names, or a WebSocket there, with
the key of that path; and `GET` lets others listen to a sink's rows in the same way.

The answer comes once the rows are kept: 200 with their number; or once a row of the app is the answer, 504 if none is.
So who got no answer sends again; rows may then be there twice. 400 says why a body is no row, 401 that the key is not
the path's, 503 that nobody takes rows now.
"""

import asyncio
import hmac
import ssl
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from cep.apps.transports.event_feed import HEARTBEAT, HEARTBEAT_SECONDS, MOST_LISTENERS, EventFeed
from cep.apps.transports.http_answers import WaitingRequests
from cep.apps.transports.ports import IncomingMessage, Intake, NotTakenError, RowsRefusedError
from cep.apps.transports.socket_rows import MOST_BYTES, MOST_SPEAKERS, SocketRows
from runtime.tasks import run_until_first
from streams.errors import StreamError

CLOSE_SECONDS = 1.0
"""Until the other side has said that it heard of the end."""
MOST_WAITING = 256
"""Requests of all paths whose rows are not kept yet; others hear that they may come again."""
MOST_WAITING_BYTES = 64 << 20
"""Of their bodies; one that does not say its length counts as the longest."""


@dataclass(frozen=True, slots=True)
class TakenRows:
    """Takes the rows of a path. `requests`: those that rows of the app answer; None if they are answered once they are
    kept."""

    intake: Intake
    requests: WaitingRequests | None = None


Opened = TakenRows | SocketRows | EventFeed
"""What a path is for: rows that come, or rows that are listened to."""


@dataclass(slots=True)
class HttpListener:
    """`keys`: by path; nothing else is taken. It listens while at least one path is open."""

    host: str
    port: int
    keys: Mapping[str, str]
    certificate: ssl.SSLContext | None = None
    _open: dict[str, Opened] = field(default_factory=dict)
    _runner: web.AppRunner | None = None
    _waiting: int = 0
    _bytes: int = 0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def url(self) -> str:
        """Return where it listens, once it does."""
        scheme = "http" if self.certificate is None else "https"
        addresses = [] if self._runner is None else self._runner.addresses
        return f"{scheme}://{addresses[0][0]}:{addresses[0][1]}" if addresses else ""

    async def serve(self, path: str, opened: Opened) -> None:
        """Have a path open until cancelled. Raises as `open`; run it again later in both cases."""
        await self.open(path, opened)
        try:
            await asyncio.Event().wait()
        finally:
            await self.close(path)

    async def open(self, path: str, opened: Opened) -> None:
        """Take rows at a path, or let others listen there. Raises RowsRefusedError if another app has it,
        NotTakenError if nobody can listen."""
        async with self._lock:
            if path in self._open:
                raise RowsRefusedError(f"another app has the path {path}; give each one of its own")
            if self._runner is None:
                self._runner = await self._listening()
            self._open[path] = opened
            if isinstance(opened, EventFeed):
                opened.open()

    async def close(self, path: str) -> None:
        async with self._lock:
            opened = self._open.pop(path, None)
            if isinstance(opened, EventFeed | SocketRows):
                opened.close()
            if not self._open and self._runner is not None:
                runner, self._runner = self._runner, None
                await runner.cleanup()

    def opened(self, path: str) -> Opened | None:
        """Return what the path is open for."""
        return self._open.get(path)

    async def _listening(self) -> web.AppRunner:
        application = web.Application(client_max_size=MOST_BYTES)
        application.router.add_route("*", "/{path:.*}", self._respond)
        # what is said may be a row, so nothing of it is logged
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, self.host, self.port, ssl_context=self.certificate).start()
        except OSError as error:
            await runner.cleanup()
            raise NotTakenError(f"nobody can listen at {self.host}:{self.port} ({error.strerror})") from None
        return runner

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        # an unknown path is answered like a wrong key: what there is, is nobody's business
        if not _has_key(request, self.keys.get(request.path, "")):
            return _answer(401, error="the key is not that of the path", headers={"WWW-Authenticate": "Bearer"})
        opened = self._open.get(request.path)
        if isinstance(opened, EventFeed | SocketRows):
            return await (_given(request, opened) if isinstance(opened, EventFeed) else _spoken(request, opened))
        if opened is None:
            # its app is starting, and what the path is for is not known yet
            return _busy()
        if request.method not in ("POST", "PUT"):
            return _answer(405, error="send rows with POST", headers={"Allow": "POST, PUT"})
        # of a longer one no more is read
        size = min(MOST_BYTES if request.content_length is None else request.content_length, MOST_BYTES)
        if self._waiting >= MOST_WAITING or self._bytes + size > MOST_WAITING_BYTES:
            return _busy()
        self._waiting, self._bytes = self._waiting + 1, self._bytes + size
        try:
            return await self._taken(request, opened)
        finally:
            self._waiting, self._bytes = self._waiting - 1, self._bytes - size

    async def _taken(self, request: web.Request, opened: TakenRows) -> web.Response:
        # raises 413 beyond MOST_BYTES
        body, requests = await request.read(), opened.requests
        name = "" if requests is None else requests.begin()
        try:
            properties = _properties(request) | ({} if requests is None else {"message.id": name, "messageId": name})
            taken = await opened.intake.take([IncomingMessage(body, properties)])
            if taken.refused:
                return _answer(400, error=taken.refused[0])
            return _answer(200, rows=taken.rows) if requests is None else await _replied(requests, name)
        except StreamError:
            return _answer(503, error="the rows cannot be kept now", headers={"Retry-After": "1"})
        finally:
            if requests is not None:
                requests.end(name)


@dataclass(frozen=True, slots=True)
class FeedServer:
    """Lets others listen to a sink's rows at its path, until it is closed."""

    listener: HttpListener
    path: str
    feed: EventFeed

    async def run(self) -> None:
        """Open the path and return once cancelled, with the path still open: the app's last rows are yet to come.
        Raises as `HttpListener.open`."""
        await self.listener.open(self.path, self.feed)
        await asyncio.Event().wait()

    async def close(self) -> None:
        """End all who listen, each behind the rows that there are."""
        if self.listener.opened(self.path) is self.feed:
            # else another app has the path
            await self.listener.close(self.path)


@dataclass(frozen=True, slots=True)
class HttpReceiver:
    """A `Receiver` of one path."""

    listener: HttpListener
    path: str
    requests: WaitingRequests | None = None
    is_socket: bool = False
    """Whether rows come by WebSocket."""

    async def run(self, intake: Intake) -> None:
        opened = SocketRows(intake) if self.is_socket else TakenRows(intake, self.requests)
        await self.listener.serve(self.path, opened)


async def _spoken(request: web.Request, rows: SocketRows) -> web.StreamResponse:
    """Take rows of one connection until it ends."""
    # pings are answered once what came before them is kept
    socket = web.WebSocketResponse(
        heartbeat=HEARTBEAT_SECONDS, autoping=False, timeout=CLOSE_SECONDS, max_msg_size=MOST_BYTES
    )
    if request.method != "GET" or not socket.can_prepare(request):
        return _answer(426, error="send rows by WebSocket", headers={"Upgrade": "websocket", "Connection": "Upgrade"})
    if rows.speakers >= MOST_SPEAKERS:
        return _answer(503, error="too many send here now", headers={"Retry-After": "5"})
    await rows.take(socket, request)
    return socket


async def _given(request: web.Request, feed: EventFeed) -> web.StreamResponse:
    """Send the feed's rows until it is closed, or the other side leaves, is too slow, or takes nothing any more."""
    if request.method != "GET":
        return _answer(405, error="listen with GET", headers={"Allow": "GET"})
    if feed.listeners >= MOST_LISTENERS:
        return _answer(503, error="too many listen here now", headers={"Retry-After": "5"})
    events = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    socket = web.WebSocketResponse(heartbeat=feed.heartbeat_seconds, timeout=CLOSE_SECONDS, max_msg_size=MOST_BYTES)
    if feed.is_socket and not socket.can_prepare(request):
        return _answer(426, error="listen by WebSocket", headers={"Upgrade": "websocket", "Connection": "Upgrade"})
    feed.listeners += 1
    try:
        if feed.is_socket:
            await socket.prepare(request)
            # with the other side's pongs and its end
            await run_until_first(_tell(socket, feed), _ignore(socket))
            await socket.close(code=aiohttp.WSCloseCode.GOING_AWAY)
        else:
            await events.prepare(request)
            await _write(events, feed, request.headers.get("Last-Event-ID", ""))
    except TimeoutError:
        # with what is on its way to him, for which the end of the response would wait
        if request.transport is not None:
            request.transport.abort()
    except ConnectionError:
        # the other side is gone
        pass
    finally:
        feed.listeners -= 1
    return socket if feed.is_socket else events


async def _write(response: web.StreamResponse, feed: EventFeed, after: str) -> None:
    """Raise TimeoutError, ConnectionError."""
    # whoever listens hears at once that he does
    await response.write(HEARTBEAT)
    async with aclosing(feed.events(after)) as found:
        async for events in found:
            async with asyncio.timeout(feed.stalled_seconds):
                await response.write(events)


async def _tell(socket: web.WebSocketResponse, feed: EventFeed) -> None:
    """As `_write`."""
    async with aclosing(feed.messages()) as found:
        async for message in found:
            async with asyncio.timeout(feed.stalled_seconds):
                try:
                    await socket.send_str(message.decode())
                except UnicodeDecodeError:
                    await socket.send_bytes(message)


async def _ignore(socket: web.WebSocketResponse) -> None:
    """Read until the other side leaves: it has nothing to say."""
    async for _ in socket:
        pass


def _busy() -> web.Response:
    return _answer(503, error="nobody takes or gives rows here now", headers={"Retry-After": "1"})


async def _replied(requests: WaitingRequests, name: str) -> web.Response:
    reply = await requests.reply(name)
    if reply is None:
        return _answer(504, error="the app gave no answer in time")
    return web.Response(body=reply.body, headers={"Content-Type": reply.media_type})


def _has_key(request: web.Request, key: str) -> bool:
    given = request.headers.get("X-Api-Key") or request.headers.get("Authorization", "").removeprefix("Bearer ")
    return hmac.compare_digest(_bytes(given), key.encode()) and bool(key)


def _bytes(text: str) -> bytes:
    """Return what was in a header; bytes that are no UTF-8 come as surrogates."""
    return text.encode(errors="surrogateescape")


def _properties(request: web.Request) -> dict[str, str]:
    secret = ("authorization", "x-api-key", "cookie")
    headers = {
        f"header.{name.lower()}": _bytes(value).decode(errors="replace") for name, value in request.headers.items()
    }
    kept = {name: value for name, value in headers.items() if name.removeprefix("header.") not in secret}
    return {"path": request.path, "method": request.method, **kept}


def _answer(status: int, headers: Mapping[str, str] | None = None, **said: Any) -> web.Response:
    return web.json_response(said, status=status, headers=headers)
