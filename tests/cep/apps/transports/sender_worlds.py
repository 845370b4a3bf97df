"""Senders with their real servers, by way of a link that can be cut."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

from cep.apps.ends.checked_connections import HttpSessions
from cep.apps.ends.sink_ends import HttpTarget, MongoTarget, MqttTarget, SocketTarget
from cep.apps.ends.source_ends import MqttTopics
from cep.apps.transports.http_sender import HttpSender, HttpTerms
from cep.apps.transports.mongo_ends import MongoSender
from cep.apps.transports.mqtt_connection import MqttTerms
from cep.apps.transports.mqtt_ends import MqttReceiver, MqttSender
from cep.apps.transports.ports import OutgoingRow, SinkSender
from cep.apps.transports.socket_ends import SocketSender
from store.server.client import connect
from tests.cep.apps.hosts.call_server import ORIGIN
from tests.cep.apps.transports.ends import sink_of
from tests.cep.apps.transports.kept_rows import KeptRows
from tests.cep.apps.transports.mqtt_broker import broker
from tests.databases import lent_database
from tests.ui.live.link import Link, link_to

LIMIT_SECONDS = 60.0
Numbers = Callable[[], Awaitable[list[int]]]


@dataclass(frozen=True, slots=True)
class World:
    """`numbers`: of the rows that the other side has, in their order."""

    sender: SinkSender
    link: Link
    numbers: Numbers


@asynccontextmanager
async def http_world() -> AsyncIterator[World]:
    found: list[int] = []

    async def respond(request: web.Request) -> web.Response:
        found.append(json.loads(await request.text())["event"]["n"])
        return web.Response()

    async def numbers() -> list[int]:
        return found

    async with web_server(respond) as port, link_to(f"tcp://127.0.0.1:{port}") as link:
        sink = sink_of(f"type = 'http', publisher.url = '{ORIGIN}/hook', @map(type = 'json')")
        assert isinstance(sink.target, HttpTarget)
        terms = HttpTerms({ORIGIN: f"http://127.0.0.1:{link.port}"})
        yield World(HttpSender(sink.target, sink.writer, terms, HttpSessions()), link, numbers)


@asynccontextmanager
async def socket_world() -> AsyncIterator[World]:
    found: list[int] = []

    async def respond(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                found.append(json.loads(message.data)["event"]["n"])
        return socket

    async def numbers() -> list[int]:
        return found

    async with web_server(respond) as port, link_to(f"tcp://127.0.0.1:{port}") as link:
        sink = sink_of("type = 'websocket', url = 'wss://api.example.com/hook', @map(type = 'json')")
        assert isinstance(sink.target, SocketTarget)
        terms = HttpTerms({ORIGIN: f"http://127.0.0.1:{link.port}"})
        yield World(SocketSender(sink.target, sink.writer, terms), link, numbers)


@asynccontextmanager
async def web_server(respond: Any) -> AsyncIterator[int]:
    application = web.Application()
    application.router.add_route("*", "/hook", respond)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def mongo_world(uri: str) -> AsyncIterator[World]:
    async with lent_database(uri) as database, link_to(uri) as link:
        client = connect(uri)

        async def numbers() -> list[int]:
            return [one["n"] async for one in client[database]["totals"].find().sort("n")]

        yield World(MongoSender(MongoTarget("mongodb://d:1", database, "totals", None), link.uri), link, numbers)
        client.close()


@asynccontextmanager
async def mqtt_world(folder: Path) -> AsyncIterator[World]:
    async with broker(folder) as running, link_to(f"tcp://127.0.0.1:{running.port}") as link:
        topics, kept = MqttTopics("mqtt://b:1", ("out/#",), 1, 4, "", is_clean=True), KeptRows()
        receiver = MqttReceiver(topics, MqttTerms("127.0.0.1", running.port), "contract-source")
        task = asyncio.create_task(receiver.run(kept))

        async def numbers() -> list[int]:
            rows = [one for one in kept.messages if one.properties["topic"] == "out/a"]
            return [json.loads(one.body)["event"]["n"] for one in rows]

        await subscribed(running.port, kept)
        sink = sink_of("type = 'mqtt', url = 'tcp://b', topic = 'out/a', @map(type = 'json')")
        assert isinstance(sink.target, MqttTarget)
        terms = MqttTerms("127.0.0.1", link.port)
        yield World(MqttSender(sink.target, sink.writer, terms, "contract-sink", ("out/#",)), link, numbers)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def subscribed(port: int, kept: KeptRows) -> None:
    """Wait until a message to the source has come."""
    sink = sink_of("type = 'mqtt', url = 'tcp://b', topic = 'out/probe', @map(type = 'json')")
    assert isinstance(sink.target, MqttTarget)
    probe = MqttSender(sink.target, sink.writer, MqttTerms("127.0.0.1", port), "contract-probe", ("out/#",))
    async with asyncio.timeout(LIMIT_SECONDS):
        while not kept.messages:
            await probe.send("", [row(0)])
            await asyncio.sleep(0.05)
    await probe.close()


def row(number: int) -> OutgoingRow:
    return OutgoingRow(f"id:{number}", number, {"symbol": "BTC", "n": number, "place": "eu"})
