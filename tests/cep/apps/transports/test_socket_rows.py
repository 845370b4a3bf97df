"""Rows that others send by WebSocket: with the path's key alone, and pings are answered once they are kept."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from cep.apps.ends.sink_ends import SocketTarget
from cep.apps.transports.http_listener import HttpListener
from cep.apps.transports.http_sender import HttpTerms
from cep.apps.transports.ports import IncomingMessage, NotTakenError, OutgoingRow, TakenMessages
from cep.apps.transports.socket_ends import SocketSender
from cep.apps.transports.socket_rows import MOST_SPEAKERS, SocketRows
from tests.cep.apps.hosts.call_server import ORIGIN
from tests.cep.apps.transports.ends import sink_of
from tests.cep.apps.transports.kept_rows import KeptRows

KEYS = {"/orders": "key of the orders"}
KEY = {"X-Api-Key": KEYS["/orders"]}
LIMIT_SECONDS = 30.0


@asynccontextmanager
async def served(intake: Any) -> AsyncIterator[tuple[HttpListener, SocketRows, aiohttp.ClientSession]]:
    listener, rows = HttpListener("127.0.0.1", 0, KEYS), SocketRows(intake)
    await listener.open("/orders", rows)
    async with asyncio.timeout(LIMIT_SECONDS), aiohttp.ClientSession(listener.url, headers=KEY) as client:
        yield listener, rows, client
    await listener.close("/orders")


async def test_each_message_is_one_and_a_ping_is_answered_once_all_before_it_are_kept() -> None:
    free, asked, kept = asyncio.Event(), asyncio.Event(), KeptRows()

    class Held:
        async def take(self, messages: Sequence[IncomingMessage]) -> TakenMessages:
            asked.set()
            await free.wait()
            return await kept.take(messages)

    async with served(Held()) as (_, _, client), client.ws_connect("/orders", autoping=False) as socket:
        for number in range(50):
            await socket.send_str(f'{{"n": {number}}}')
        await socket.send_bytes(b"\xff")
        await socket.ping(b"behind them")
        answer = asyncio.create_task(socket.receive())
        await asked.wait()
        assert not answer.done()
        free.set()
        found = await answer
        assert (found.type, bytes(found.data)) == (aiohttp.WSMsgType.PONG, b"behind them")
        assert len(kept.messages) == 51
    assert [one.body for one in kept.messages] == [b'{"n": %d}' % number for number in range(50)] + [b"\xff"]
    assert kept.messages[0].properties == {"path": "/orders"}


async def test_a_sink_of_ours_knows_what_was_kept() -> None:
    kept = KeptRows(fails=1)
    sink = sink_of("type = 'websocket', url = 'wss://api.example.com/orders', @map(type = 'json')")
    assert isinstance(sink.target, SocketTarget)
    async with served(kept) as (listener, _, _):
        sender = SocketSender(sink.target, sink.writer, HttpTerms({ORIGIN: listener.url}, {ORIGIN: KEY}))
        rows = [OutgoingRow(f"id:{n}", n, {"symbol": "BTC", "n": n, "place": "x"}) for n in range(3)]
        with pytest.raises(NotTakenError, match="1013"):
            await sender.send("", rows)
        assert kept.messages == []
        await sender.send("", rows)
        assert len(kept.messages) == 3
        await sender.close()


async def test_nothing_is_taken_without_the_key_or_without_a_websocket() -> None:
    kept = KeptRows()
    async with served(kept) as (_, rows, client):
        with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
            await client.ws_connect("/orders", headers={"X-Api-Key": "another"})
        for method in ("POST", "GET"):
            async with client.request(method, "/orders", data=b"{}") as answer:
                assert (answer.status, answer.headers["Upgrade"]) == (426, "websocket")
        assert rows.speakers == 0
    assert kept.messages == []


async def test_no_more_are_connected_than_there_is_room_for_and_all_hear_the_end() -> None:
    async with served(KeptRows()) as (listener, rows, client):
        sockets = [await client.ws_connect("/orders") for _ in range(MOST_SPEAKERS)]
        with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
            await client.ws_connect("/orders")
        await sockets[0].close()
        closing = asyncio.create_task(listener.close("/orders"))
        for socket in sockets[1:]:
            message = await socket.receive()
            assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, aiohttp.WSCloseCode.GOING_AWAY)
        await closing
        assert rows.speakers == 0


async def test_many_that_come_together_are_counted_too() -> None:
    async with served(KeptRows()) as (_, rows, client):
        asked = (client.ws_connect("/orders") for _ in range(2 * MOST_SPEAKERS))
        answers = await asyncio.gather(*asked, return_exceptions=True)
        refused = [one for one in answers if isinstance(one, aiohttp.WSServerHandshakeError)]
        assert (len(refused), {one.status for one in refused}) == (MOST_SPEAKERS, {503})
        assert rows.speakers == MOST_SPEAKERS


async def test_a_message_that_is_too_long_ends_the_connection_alone() -> None:
    kept = KeptRows()
    async with served(kept) as (_, _, client):
        async with client.ws_connect("/orders") as socket:
            await socket.send_bytes(bytes((1 << 20) + 1))
            message = await socket.receive()
            assert message.data == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
        async with client.ws_connect("/orders", autoping=False) as socket:
            await socket.send_str("{}")
            await socket.ping()
            await socket.receive()
    assert kept.bodies == ["{}"]
