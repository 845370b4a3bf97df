"""Rows to and from a real server of WebSocket and of server-sent events, which breaks off and goes on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import WSMsgType, web

from cep.apps.ends.sink_ends import SocketTarget
from cep.apps.ends.source_ends import ServerEvents, SocketMessages
from cep.apps.transports.event_lines import EventLines, ServerEvent
from cep.apps.transports.http_sender import HttpTerms
from cep.apps.transports.ports import NotTakenError, OutgoingRow, RowsRefusedError
from cep.apps.transports.socket_ends import EventReceiver, SocketReceiver, SocketSender
from streams.errors import StreamUnavailableError
from tests.cep.apps.transports.ends import sink_of, source_of
from tests.cep.apps.transports.kept_rows import KeptRows, PlaceInMemory

ORIGIN = "http://feed.example.com"
Respond = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def server(respond: Respond) -> AsyncIterator[HttpTerms]:
    application = web.Application()
    application.router.add_get("/a", respond)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield HttpTerms({ORIGIN: site.name}, {ORIGIN: {"X-Key": "secret"}})
    finally:
        await runner.cleanup()


def rows(first: int, count: int) -> list[OutgoingRow]:
    return [OutgoingRow(f"id:{n}", n, {"symbol": "BTC", "n": n, "place": "eu"}) for n in range(first, first + count)]


async def test_rows_are_taken_once_the_server_has_read_them() -> None:
    found: list[str] = []
    closed = False

    async def respond(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        assert request.headers["X-Key"] == "secret"
        async for message in socket:
            if closed:
                await socket.close()
                break
            if message.type is WSMsgType.TEXT:
                found.append(message.data)
        return socket

    sink = sink_of("type = 'websocket', url = 'ws://feed.example.com/a', @map(type = 'json')")
    assert isinstance(sink.target, SocketTarget)
    async with server(respond) as terms:
        sent = SocketSender(sink.target, sink.writer, terms)
        await sent.send(sent.destination({}), rows(0, 50))
        assert [f'"n":{n},' in one for n, one in enumerate(found)] == [True] * 50
        closed = True
        with pytest.raises(NotTakenError):
            await sent.send(sent.destination({}), rows(50, 1))
        closed = False
        await sent.send(sent.destination({}), rows(50, 1))
        await sent.close()
    assert len(found) == 51
    with pytest.raises(NotTakenError):
        await sent.send(sent.destination({}), rows(51, 1))
    await sent.close()


async def test_no_redirect_is_followed() -> None:
    asked: list[str] = []

    async def other(request: web.Request) -> web.StreamResponse:
        asked.append(request.headers.get("X-Key", ""))
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        return socket

    async def respond(request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": f"{there.addresses[ORIGIN]}/a"})

    sink = sink_of("type = 'websocket', url = 'ws://feed.example.com/a', @map(type = 'json')")
    assert isinstance(sink.target, SocketTarget)
    async with server(other) as there, server(respond) as terms:
        sent = SocketSender(sink.target, sink.writer, terms)
        with pytest.raises(NotTakenError, match="302, and no redirect is followed"):
            await sent.send(sent.destination({}), rows(0, 1))
        await sent.close()
        with pytest.raises(NotTakenError, match="302, and no redirect is followed"):
            await SocketReceiver(SocketMessages(f"{ORIGIN}/a", ()), terms).run(KeptRows())
        with pytest.raises(RowsRefusedError, match="answers 302"):
            await EventReceiver(ServerEvents(f"{ORIGIN}/a", ()), terms, PlaceInMemory()).run(KeptRows())
    assert asked == []


async def test_messages_come_until_the_server_closes_the_connection() -> None:
    async def respond(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        for number in range(1_500):
            await socket.send_str(f"{number}")
        await socket.send_bytes(b"bytes")
        await socket.close()
        return socket

    source = source_of("type = 'websocket', url = 'ws://feed.example.com/a', @map(type = 'json')")
    assert isinstance(source.origin, SocketMessages)
    kept = KeptRows()
    async with server(respond) as terms:
        with pytest.raises(NotTakenError, match="has closed the connection"):
            await SocketReceiver(source.origin, terms).run(kept)
    assert kept.bodies == [*map(str, range(1_500)), "bytes"]


async def test_events_go_on_behind_the_last_that_was_kept() -> None:
    asked: list[str | None] = []

    async def respond(request: web.Request) -> web.StreamResponse:
        last = request.headers.get("Last-Event-ID")
        asked.append(last)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number in range(int(last or "0") + 1, int(last or "0") + 3):
            await response.write(f": quiet\nid: {number}\nevent: tick\ndata: {number}\n\n".encode())
        return response

    source = source_of(f"type = 'sse', event.source.url = '{ORIGIN}/a', @map(type = 'json')")
    assert isinstance(source.origin, ServerEvents)
    kept, place = KeptRows(), PlaceInMemory()
    async with server(respond) as terms:
        for fails in (0, 1, 0):
            kept.fails = fails
            with pytest.raises((NotTakenError, StreamUnavailableError)):
                await EventReceiver(source.origin, terms, place).run(kept)
    # what could not be kept was asked for again
    assert asked == [None, "2", "2"]
    assert kept.bodies == ["1", "2", "3", "4"]
    assert kept.messages[0].properties["event"] == "tick"


async def test_long_events_and_bytes_that_are_no_text_hold_up_no_stream() -> None:
    async def respond(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: " + b"x" * 300_000 + b"\n\ndata: \xff\n\n")
        return response

    kept = KeptRows()
    async with server(respond) as terms:
        with pytest.raises(NotTakenError, match="has ended the stream"):
            await EventReceiver(ServerEvents(f"{ORIGIN}/a", ()), terms, PlaceInMemory()).run(kept)
    assert kept.bodies == ["x" * 300_000, "\N{REPLACEMENT CHARACTER}"]


async def test_what_is_no_stream_of_events_is_refused() -> None:
    async def respond(request: web.Request) -> web.StreamResponse:
        return web.Response(text="a page")

    async with server(respond) as terms:
        with pytest.raises(RowsRefusedError, match=r"answers 200 \(text/plain\)"):
            await EventReceiver(ServerEvents(f"{ORIGIN}/a", ()), terms, PlaceInMemory()).run(KeptRows())


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        (["data: a", ""], [ServerEvent("a", "message", "")]),
        (["data:a", "data: b", "id: 7", ""], [ServerEvent("a\nb", "message", "7")]),
        (["id: 7", "data: a", "", "data: b", ""], [ServerEvent("a", "message", "7"), ServerEvent("b", "message", "7")]),
        (["event: x", "", "data: a", ""], [ServerEvent("a", "message", "")]),
        ([": comment", "retry: 10", "other", "", "data", ""], [ServerEvent("", "message", "")]),
        (["data: never ended"], []),
    ],
)
def test_events_are_read_line_by_line(lines: list[str], events: list[ServerEvent]) -> None:
    reader = EventLines()
    assert [event for line in lines if (event := reader.take(line)) is not None] == events


def test_an_event_without_an_end_is_refused() -> None:
    reader = EventLines()
    for _ in range(10):
        reader.take("data: " + "x" * 100_000)
    with pytest.raises(ValueError, match="more than 1,048,576 characters"):
        reader.take("data: " + "x" * 100_000)


async def test_a_server_that_is_away_is_tried_again() -> None:
    terms = HttpTerms({ORIGIN: "http://127.0.0.1:9"})
    async with asyncio.timeout(30):
        for receiver in (
            SocketReceiver(SocketMessages(f"{ORIGIN}/a", ()), terms),
            EventReceiver(ServerEvents(f"{ORIGIN}/a", ()), terms, PlaceInMemory()),
        ):
            with pytest.raises(NotTakenError):
                await receiver.run(KeptRows())
