"""The socket of orders against a server that says what each test wants."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import ccxt
import pytest
from aiohttp import WSMsgType, web

from exchanges.ccxt.client import ExchangeConfig, make_exchange
from exchanges.errors import AccountRejectedError
from exchanges.ports.limits import Weights
from exchanges.ports.order_calls import PrivateCall, SocketAnswer, SocketEnding
from exchanges.ports.orders import AnswerNotUnderstoodError
from exchanges.requests.order_socket import OrderSocket, SocketClosedError, socket_or_rest
from runtime.clock import SystemClock

READ = PrivateCall("GET", "order", {})
Answers = Callable[[web.WebSocketResponse, str], Any]


@dataclass
class PlayedWire:
    """Messages are `id method`, answers `id status`, of which 401 is that of an unknown key; `end` is the notice of an
    end."""

    url: str
    opening_weights: Weights = field(default_factory=dict)
    ping: tuple[float, str] | None = None

    def log_on(self, call_id: str) -> str:
        return f"{call_id} logon"

    def weights(self, call: PrivateCall) -> Weights:
        return {}

    def message(self, call_id: str, call: PrivateCall) -> str:
        return f"{call_id} {call.method}"

    def read(self, message: str) -> SocketAnswer | SocketEnding | None:
        if message == "end":
            return SocketEnding()
        call_id, _, status = message.partition(" ")
        if not status.isdigit():
            raise AnswerNotUnderstoodError(message)
        bodies: dict[str, object] = {"200": {"to": call_id}, "401": {"code": -2015, "msg": "?"}}
        return SocketAnswer(call_id, int(status), bodies.get(status, {"code": -1000, "msg": "?"}))


@dataclass
class Played:
    """A socket, and what its server heard."""

    socket: OrderSocket
    heard: list[str]
    logons: list[str]


@asynccontextmanager
async def played(
    answer: Answers,
    pauses: Callable[[], Iterator[float]] | None = None,
    logs_on: int = 200,
    ping: tuple[float, str] | None = None,
) -> AsyncIterator[Played]:
    """Without `pauses`, there is none between two connections; `logs_on`: the status that answers a log-on."""
    heard: list[str] = []
    logons: list[str] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                call_id, _, method = message.data.partition(" ")
                if method == "logon":
                    logons.append(call_id)
                    await socket.send_str(f"{call_id} {logs_on}")
                else:
                    heard.append(call_id)
                    await answer(socket, call_id)
        return socket

    application = web.Application()
    application.router.add_get("/", serve)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    client = make_exchange(ExchangeConfig("binance", "simulated", "http://127.0.0.1:1", None, is_limited=False))
    url = f"ws://127.0.0.1:{runner.addresses[0][1]}/"
    socket = OrderSocket(client, PlayedWire(url, ping=ping), pauses or (lambda: iter([0.0] * 9)))
    try:
        yield Played(socket, heard, logons)
    finally:
        await socket.close()
        await client.close()
        await runner.cleanup()


async def as_asked(socket: web.WebSocketResponse, call_id: str) -> None:
    await socket.send_str(f"{call_id} 200")


async def test_answers_go_to_those_who_asked_in_whatever_order() -> None:
    waiting: list[str] = []

    async def reversed_order(socket: web.WebSocketResponse, call_id: str) -> None:
        waiting.append(call_id)
        if len(waiting) == 3:
            for one in reversed(waiting):
                await socket.send_str(f"{one} 200")

    async with played(reversed_order) as server:
        await server.socket.wait_until_open()
        answers = await asyncio.gather(*(server.socket.ask(READ) for _ in range(3)))
        assert answers == [{"to": call_id} for call_id in server.heard]


async def test_a_second_answer_under_one_id_changes_nothing() -> None:
    async def twice(socket: web.WebSocketResponse, call_id: str) -> None:
        for status in (200, 500):
            await socket.send_str(f"{call_id} {status}")

    async with played(twice) as server:
        await server.socket.wait_until_open()
        assert [await server.socket.ask(READ) for _ in range(2)] == [{"to": call_id} for call_id in server.heard]
        assert server.socket.is_open


async def test_nothing_is_sent_without_a_connection() -> None:
    async with played(as_asked) as server:
        with pytest.raises(SocketClosedError):
            await server.socket.ask(READ)
        by_rest: list[PrivateCall] = []

        async def rest(call: PrivateCall) -> object:
            by_rest.append(call)
            return "by REST"

        assert await socket_or_rest(server.socket, rest)(READ) == "by REST"
        assert by_rest == [READ]
        await server.socket.wait_until_open()
        assert await server.socket.ask(READ) == {"to": "2"}
        # what was asked before went nowhere
        assert server.heard == ["2"]


async def test_a_refused_log_on_is_said_once_and_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async with played(as_asked, logs_on=401) as server:
        for _ in range(2):
            with pytest.raises(AccountRejectedError, match='order_transport = "rest"'):
                await server.socket.wait_until_open()
        server.socket.keep_open()
        with pytest.raises(SocketClosedError):
            await server.socket.ask(READ)
        assert len(server.logons) == 1
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_a_silent_line_gets_the_exchanges_own_ping() -> None:
    pinged = asyncio.Event()

    async def note(socket: web.WebSocketResponse, call_id: str) -> None:
        if call_id == "0":
            pinged.set()
        else:
            await as_asked(socket, call_id)

    async with played(note, ping=(0.01, "0 ping")) as server:
        await server.socket.wait_until_open()
        async with asyncio.timeout(5):
            await pinged.wait()
        assert await server.socket.ask(READ) == {"to": "2"}


async def test_a_connection_that_ends_says_so_to_all_who_wait_and_is_opened_again() -> None:
    async def hang_up(socket: web.WebSocketResponse, call_id: str) -> None:
        if call_id == "3":
            await socket.close()

    async with played(hang_up) as server:
        await server.socket.wait_until_open()
        ended = await asyncio.gather(*(server.socket.ask(READ) for _ in range(2)), return_exceptions=True)
        assert [type(one) for one in ended] == [ccxt.RequestTimeout, ccxt.RequestTimeout]
        await server.socket.wait_until_open()
        assert server.heard == ["2", "3"], "nothing was sent again"
        assert server.logons == ["1", "4"]


async def test_after_a_notice_nothing_more_is_sent_and_what_waits_is_answered() -> None:
    asked = asyncio.Event()

    async def ending(socket: web.WebSocketResponse, call_id: str) -> None:
        await socket.send_str("end")
        await asked.wait()
        await as_asked(socket, call_id)

    async with played(ending, lambda: iter([30.0])) as server:
        await server.socket.wait_until_open()
        first = asyncio.create_task(server.socket.ask(READ))
        while server.socket.is_open:
            await SystemClock().sleep(0)
        with pytest.raises(SocketClosedError):
            await server.socket.ask(READ)
        asked.set()
        assert await first == {"to": "2"}


async def test_what_cannot_be_read_ends_the_connection() -> None:
    async def broken(socket: web.WebSocketResponse, call_id: str) -> None:
        await socket.send_str(f"{call_id} OK")

    async with played(broken, lambda: iter([30.0])) as server:
        await server.socket.wait_until_open()
        with pytest.raises(ccxt.RequestTimeout):
            await server.socket.ask(READ)
        assert not server.socket.is_open
