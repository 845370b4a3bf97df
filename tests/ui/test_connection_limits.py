"""Connections beyond the caps and headers that never end, on real sockets, beside somebody who is in earnest."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import orjson
import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from uvicorn.server import ServerState

from runtime.clock import SystemClock
from tests.ui.clients import client_at
from tests.ui.test_slow_sockets import UPGRADE, all_of, silent
from tests.ui.waiting import until
from ui.auth.address_groups import counted_address
from ui.auth.denied_log import QUIET_SECONDS, DeniedLog
from ui.http.body_limit import BoundedBodies
from ui.server.connection_limits import BoundedHttp, ConnectionCaps, RawHeaders, SilentConnections
from ui.server.stream_caps import BoundedStreams, StreamCap
from ui.server.web_server import WebServer, bound_socket, uvicorn_config

CAPS = ConnectionCaps(
    in_all=12,
    per_address=9,
    reserve=5,
    without_header=4,
    grace_seconds=0,
    header_seconds=0.4,
    body_seconds=0.8,
    rest_seconds=0.1,
)
KEY = "X-API-Key: an operator's\r\n"
FEW = StreamCap("events", 3, 5)


def is_from_operator(headers: RawHeaders) -> bool:
    return (b"x-api-key", b"an operator's") in headers


async def forever() -> AsyncIterator[bytes]:
    while True:
        yield b": still here\n\n"
        await SystemClock().sleep(0.05)


def small_app() -> FastAPI:
    app = FastAPI()
    app.state.gate = asyncio.Event()
    app.add_middleware(BoundedBodies, seconds=0.4)
    others = {"sockets": StreamCap("sockets", 3, 5), "pages": StreamCap("pages", 3, 5)}
    app.add_middleware(BoundedStreams, events=FEW, **others, is_from_operator=is_from_operator)

    @app.get("/api/health")
    async def health() -> str:
        return "ok"

    @app.get("/api/slow")
    async def slow() -> str:
        await app.state.gate.wait()
        return "at last"

    @app.post("/api/text")
    async def text(said: dict[str, object]) -> str:
        return "read"

    @app.get("/api/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(forever(), media_type="text/event-stream")

    return app


@asynccontextmanager
async def serving(caps: ConnectionCaps = CAPS) -> AsyncIterator[tuple[str, WebServer]]:
    with bound_socket("127.0.0.1", 0) as listener:
        config = uvicorn_config(small_app())
        config.timeout_keep_alive = 1
        config.http = partial(  # type: ignore[assignment]  # called like the class
            BoundedHttp, caps=caps, waiting=SilentConnections(), is_from_operator=is_from_operator
        )
        server = WebServer(config)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        await server.wait_started(running)
        yield f"127.0.0.1:{listener.getsockname()[1]}", server
        config.app.state.gate.set()  # type: ignore[union-attr]  # the application above
        server.should_exit = True
        await running


async def healthy(address: str) -> bool:
    async with client_at() as client:
        return (await client.get(f"http://{address}/api/health")).status_code == 200


@asynccontextmanager
async def half_sent(
    address: str, text: str = "GET /api/health HTTP/1.1\r\nHost: ", come_from: str = "127.0.0.1"
) -> AsyncIterator[asyncio.StreamReader]:
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port), local_addr=(come_from, 0))
    writer.write(text.encode())
    try:
        yield reader
    finally:
        writer.close()


async def test_a_header_that_never_ends_is_hung_up_on() -> None:
    async with serving() as (address, server):
        for text in ("", "GET ", "GET /api/health HTTP/1.1\r\nHost: x\r\nX-More: "):
            async with half_sent(address, text) as reader:
                assert await reader.read() == b""
        # the next one on a connection that was answered before, too
        async with half_sent(address, f"GET /api/health HTTP/1.1\r\nHost: {address}\r\n\r\nGET /api") as reader:
            assert (await reader.read()).startswith(b"HTTP/1.1 200")
        await until(lambda: not server.server_state.connections)


async def test_however_many_headers_are_half_sent_others_are_answered() -> None:
    patient = ConnectionCaps(12, 9, without_header=4, grace_seconds=0, header_seconds=600)
    async with serving(patient) as (address, server), AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(half_sent(address)) for _ in range(30)]
        assert await healthy(address)
        gone = await asyncio.gather(*(reader.read() for reader in readers[:26]))
        assert set(gone) == {b""}, "the oldest went"
        assert len(server.server_state.connections) <= 5


async def test_many_that_come_at_once_and_are_in_earnest_are_all_answered() -> None:
    async with serving(ConnectionCaps(60, 50, without_header=4)) as (address, _), AsyncExitStack() as stack:
        ask = f"GET /api/health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        coming = (stack.enter_async_context(half_sent(address, ask)) for _ in range(40))
        answers = await asyncio.gather(*(reader.read() for reader in await asyncio.gather(*coming)))
    assert {one[:15] for one in answers} == {b"HTTP/1.1 200 OK"}


async def test_one_connection_too_many_is_reported_so_and_a_free_place_is_taken_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ask = "GET /api/{} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    async with serving() as (address, server), AsyncExitStack() as stack:
        for _ in range(CAPS.per_address):
            await stack.enter_async_context(half_sent(address, ask.format("slow")))
        await until(lambda: len(server.server_state.tasks) == CAPS.per_address)
        with caplog.at_level(logging.WARNING, "ui"):
            for _ in range(3):
                async with half_sent(address, ask.format("health")) as reader:
                    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 429")
                assert b"Retry-After: 2" in head
                assert orjson.loads(body)["status"] == 429
        gate: asyncio.Event = server.config.app.state.gate  # type: ignore[union-attr]  # the application above
        gate.set()
        await until(lambda: not server.server_state.tasks)
        assert await healthy(address), "an idle connection goes for one that asks"


async def test_who_has_all_of_loopback_has_one_address_and_an_operator_gets_in_all_the_same() -> None:
    ask = "GET /api/{} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{}\r\n"
    async with serving() as (address, server), AsyncExitStack() as stack:
        for last in range(CAPS.per_address):
            await stack.enter_async_context(half_sent(address, ask.format("slow", ""), f"127.0.0.{2 + last}"))
        await until(lambda: len(server.server_state.tasks) == CAPS.per_address)
        async with half_sent(address, ask.format("health", ""), "127.0.0.99") as reader:
            assert (await reader.read()).startswith(b"HTTP/1.1 429")
        for last in range(40):
            await stack.enter_async_context(half_sent(address, come_from=f"127.0.1.{1 + last}"))
        async with half_sent(address, ask.format("health", KEY)) as reader:
            assert (await reader.read()).startswith(b"HTTP/1.1 200")
        async with half_sent(address, ask.format("health", KEY).replace("operator's", "other's")) as reader:
            assert (await reader.read()).startswith(b"HTTP/1.1 429")
        upgrade = UPGRADE.replace("\r\nConnection: Upgrade", "\r\nConnection: Upgrade\r\nHost: 127.0.0.1")
        async with half_sent(address, f"GET /ws/live HTTP/1.1\r\n{upgrade}\r\n") as reader:
            assert (await reader.read()).startswith(b"HTTP/1.1 429"), "a socket is a connection as well"
        async with half_sent(address, f"GET /ws/live HTTP/1.1\r\n{upgrade}{KEY}\r\n") as reader:
            assert (await reader.read()).startswith(b"HTTP/1.1 403"), "which our application says"


class Wire(asyncio.Transport):
    """A connection from any address."""

    def __init__(self, host: str) -> None:
        super().__init__({"peername": (host, 1), "sockname": ("10.0.0.1", 2)})
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed


async def test_the_oldest_idle_one_goes_of_the_address_that_has_most() -> None:
    config, state = uvicorn_config(small_app()), ServerState()
    caps, waiting = ConnectionCaps(in_all=4, per_address=4, reserve=0), SilentConnections()
    lonely, old, young, newest = "192.0.2.1", "2001:db8::1", "2001:db8::ffff", "198.51.100.1"
    wires = [Wire(host) for host in (lonely, old, young, "192.0.2.2", newest)]
    connections = []
    for wire in wires:
        connections.append(BoundedHttp(config, state, {}, caps=caps, waiting=waiting))
        connections[-1].connection_made(wire)
    assert [wire.is_closed for wire in wires] == [False, True, False, False, False]
    for connection in connections:
        connection.connection_lost(ValueError("the end"))


def test_addresses_of_one_owner_count_as_one() -> None:
    of_loopback = {counted_address(one) for one in ("127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.3")}
    assert len(of_loopback) == 1
    assert counted_address("2001:db8:0:1::1") == counted_address("2001:db8:0:1:ffff::2")
    assert counted_address("2001:db8:0:1::1") != counted_address("2001:db8:0:2::1")
    assert counted_address("::ffff:192.0.2.1") == counted_address("192.0.2.1") != counted_address("192.0.2.2")
    assert counted_address("") == ""


async def test_streams_are_capped_and_leave_a_reserve_for_plain_requests(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as (address, _), client_at(address) as client:
        async with AsyncExitStack() as stack:
            for _ in range(FEW.per_address):
                answer = await stack.enter_async_context(client.stream("GET", "/api/stream"))
                assert answer.status_code == 200
            with caplog.at_level(logging.WARNING, "ui"):
                rejected = [await client.get("/api/stream") for _ in range(20)]
            assert {(one.status_code, one.headers["retry-after"]) for one in rejected} == {(429, "5")}
            assert "has 3 open events already" in rejected[0].json()["detail"]
            assert caplog.messages.count("stream rejected") == 1, "one line, not one for each"
            assert await healthy(address)
            async with client.stream("GET", "/api/stream", headers={"X-API-Key": "an operator's"}) as operators:
                assert operators.status_code == 200, "an operator gets in all the same"
            async with silent(address, "ws/live") as socket:
                assert b"403" in (await all_of(socket))[:20], "another kind is counted apart"
        async with client.stream("GET", "/api/stream") as again:
            assert again.status_code == 200


async def test_a_body_that_does_not_come_is_408_and_its_connection_ends() -> None:
    async with serving() as (address, server):
        head = f"POST /api/text HTTP/1.1\r\nHost: {address}\r\nContent-Length: 10\r\n\r\n{{"
        async with half_sent(address, head) as reader:
            answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"/api/problems/too-slow" in answer
        await until(lambda: not server.server_state.connections)


@pytest.mark.parametrize("path", ["/api/health", "/api/stream"])
@pytest.mark.parametrize("length", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
async def test_a_body_that_no_route_reads_does_not_hold_its_connection(path: str, length: str) -> None:
    async with serving() as (address, server):
        host, port = address.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\n{length}\r\n\r\n".encode())
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200"), "it is answered"
        async with asyncio.timeout(5):
            while server.server_state.connections:
                writer.write(b"1\r\nx\r\n" if "chunked" in length else b"x")
                await SystemClock().sleep(0.02)
        writer.close()


async def test_a_body_that_comes_after_its_answer_leaves_the_connection_as_it_is() -> None:
    patient = ConnectionCaps(header_seconds=600, body_seconds=600, rest_seconds=600)
    async with serving(patient) as (address, _):
        host, port = address.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        for _ in range(3):
            writer.write(f"GET /api/health HTTP/1.1\r\nHost: {address}\r\nContent-Length: 2\r\n\r\n{{".encode())
            assert (await reader.readuntil(b'"ok"')).startswith(b"HTTP/1.1 200")
            writer.write(b"}")
        writer.close()


def test_a_flood_is_one_line_in_ten_seconds_with_its_number(caplog: pytest.LogCaptureFixture) -> None:
    now = [0]
    away = DeniedLog("stream", now=lambda: now[0])
    with caplog.at_level(logging.WARNING, "ui"):
        for second in (0, 1, QUIET_SECONDS - 1, QUIET_SECONDS, QUIET_SECONDS + 1):
            now[0] = second * 1_000_000
            away.record("127.0.0.1", "too many")
    assert [record.__dict__["count"] for record in caplog.records] == [1, 3]
