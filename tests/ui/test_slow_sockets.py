"""A client that stops reading, on real sockets, beside one that reads."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import websockets
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse

from runtime.clock import SystemClock
from tests.ui.waiting import until
from ui.server.slow_sockets import TRY_AGAIN_LATER, SlowClientCutoff
from ui.server.web_server import WebServer, bound_socket, uvicorn_config

ANSWER_TIMEOUT_SECONDS = 0.3
SILENT_MILLISECONDS = 1_000
LARGE = "x" * 100_000

UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
)


class Pushing:
    """Sends every client large messages, each as fast as it takes them."""

    def __init__(self) -> None:
        self.sent: dict[str, int] = {}
        self.app = FastAPI()
        self.app.websocket("/{name}")(self.push)
        self.app.get("/events")(self.events)

    async def push(self, websocket: WebSocket, name: str) -> None:
        await websocket.accept()
        self.sent[name] = 0
        try:
            while True:
                await websocket.send_text(LARGE)
                self.sent[name] += 1
                await SystemClock().sleep(0.001)
        except WebSocketDisconnect:
            pass
        finally:
            del self.sent[name]

    async def events(self) -> StreamingResponse:
        return StreamingResponse(self._events())

    async def _events(self) -> AsyncIterator[str]:
        self.sent["events"] = 0
        try:
            while True:
                yield LARGE
                await SystemClock().sleep(0.001)
        finally:
            del self.sent["events"]


@asynccontextmanager
async def serving(pushing: Pushing) -> AsyncIterator[tuple[str, WebServer]]:
    with bound_socket("127.0.0.1", 0, SILENT_MILLISECONDS) as listener:
        config = uvicorn_config(pushing.app)
        config.ws = partial(SlowClientCutoff, patience=ANSWER_TIMEOUT_SECONDS)  # type: ignore[assignment]  # called like the class
        server = WebServer(config)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        await server.wait_started(running)
        yield f"127.0.0.1:{listener.getsockname()[1]}", server
        server.should_exit = True
        await running


@asynccontextmanager
async def silent(address: str, name: str, upgrade: str = UPGRADE) -> AsyncIterator[socket.socket]:
    """Return a client that says hello and reads nothing more."""
    host, port = address.split(":")
    hello = f"GET /{name} HTTP/1.1\r\nHost: {address}\r\n{upgrade}\r\n"
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, (host, int(port)))
        await asyncio.get_running_loop().sock_sendall(client, hello.encode())
        yield client


async def all_of(client: socket.socket) -> bytes:
    """Everything until the other side is gone."""
    received = bytearray()
    while True:
        try:
            part = await asyncio.get_running_loop().sock_recv(client, 1_000_000)
        except ConnectionResetError:
            return bytes(received)
        if not part:
            return bytes(received)
        received += part


def sockets_of(server: WebServer) -> list[SlowClientCutoff]:
    return [one for one in server.server_state.connections if isinstance(one, SlowClientCutoff)]


async def test_one_that_stops_reading_is_broken_off_without_harm_to_others() -> None:
    pushing = Pushing()
    async with (
        serving(pushing) as (address, server),
        silent(address, "silent"),
        websockets.connect(f"ws://{address}/reading", max_size=None) as reading,
    ):
        await until(lambda: "silent" in pushing.sent)
        while "silent" in pushing.sent:
            assert await reading.recv() == LARGE
        # its connection is gone, not only its task: nothing is kept for it any more
        while len(server.server_state.connections) > 1:
            assert await reading.recv() == LARGE
        assert set(pushing.sent) == {"reading"}


async def test_one_that_reads_again_in_time_learns_why_it_must_go() -> None:
    pushing = Pushing()
    async with serving(pushing) as (address, server), silent(address, "late") as client:
        await until(lambda: any(one.close_sent for one in sockets_of(server)))
        received = await all_of(client)
    code = TRY_AGAIN_LATER.to_bytes(2, "big")
    assert received.endswith(code + b"The client reads too slowly.")


async def test_what_is_kept_for_one_that_does_not_read_is_bounded() -> None:
    pushing = Pushing()
    async with serving(pushing) as (address, server), silent(address, "silent"):
        await until(lambda: pushing.sent.get("silent", 0) > 0)
        (connection,) = sockets_of(server)
        most = 0
        while "silent" in pushing.sent:
            most = max(most, connection.transport.get_write_buffer_size())
            await SystemClock().sleep(0.01)
        assert 0 < most <= 65_536 + len(LARGE) + 100


async def test_accepted_connections_inherit_the_bounds() -> None:
    async with serving(Pushing()) as (address, server), silent(address, "any"):
        await until(lambda: bool(sockets_of(server)))
        (connection,) = sockets_of(server)
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) <= 600_000
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == SILENT_MILLISECONDS


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux breaks silent connections by itself")
async def test_a_program_that_stops_reading_its_events_is_broken_off_by_the_system() -> None:
    pushing = Pushing()
    async with serving(pushing) as (address, _), silent(address, "events", upgrade=""):
        await until(lambda: "events" in pushing.sent)
        await until(lambda: "events" not in pushing.sent)
