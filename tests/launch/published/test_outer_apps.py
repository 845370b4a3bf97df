"""A published app that takes rows by HTTP and sends them by HTTP, on a real Kafka, in real processes: through a version
that takes over, a server that is away, and another run of the part, each row is sent."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import orjson
import pytest
from aiohttp import web

from cep.apps.functions.operator_terms import ReceivingTerms
from runtime.clock import SystemClock, wall_now
from session.session import Session
from store.memory.apps import MemoryApps
from streams.broker.embedded_broker import free_ports
from streams.topic_admin import ensure_topics
from tests.cep.apps.hosts.call_server import ORIGIN, CallServer, call_server
from tests.launch.published.published_world import TERMS, TIMEOUT_SECONDS, PublishedWorld, log_begins, published
from tests.store.traded_session import new_session

pytestmark = pytest.mark.slow
KEY = "0123456789abcdef"
TEXT = f"""@App:name('outer')
@source(type = 'http', path = '/orders', @map(type = 'json'))
define stream Orders (n long, place string);
@sink(type = 'http', publisher.url = '{ORIGIN}/{{{{place}}}}', @map(type = 'json'))
define stream Out (n long, place string);
from Orders select n + 100L as n, place insert into Out;
"""


@pytest.fixture
async def session(mongodb_uri: str, kafka_address: str, tmp_path: Path) -> AsyncIterator[Session]:
    await ensure_topics(kafka_address, 1)
    async with new_session(mongodb_uri) as (opened, _):
        services = replace(opened.services, kafka=kafka_address, partitions=1)
        yield replace(opened, services=services, home=tmp_path, started_at=wall_now(), mode="paper")


async def give(url: str, n: int, place: str) -> None:
    """Send a row until it is taken."""
    body = orjson.dumps({"event": {"n": n, "place": place}})
    async with asyncio.timeout(TIMEOUT_SECONDS), aiohttp.ClientSession(headers={"X-Api-Key": KEY}) as client:
        while True:
            try:
                async with client.post(f"{url}/orders", data=body) as answer:
                    if answer.status == 200:
                        return
                    assert answer.status == 503
            except aiohttp.ClientConnectionError:
                pass
            await SystemClock().sleep(0.05)


async def until(server: CallServer, *wanted: str) -> None:
    """Wait until the server has these rows, as path and number."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while set(wanted) - set(taken(server)):
            await SystemClock().sleep(0.05)


def taken(server: CallServer) -> list[str]:
    found = zip(list(server.asked), list(server.bodies), strict=False)
    return [f"{one.removeprefix('POST ')} {orjson.loads(body)['event']['n']}" for one, body in found]


async def figures_of(world: PublishedWorld) -> tuple[dict[str, int], dict[str, int]]:
    status = await world.door.status("outer")
    (sink,), (source,) = status["sinks"], status["sources"]
    return sink, source


async def test_rows_come_and_go_through_a_takeover_and_another_run(session: Session, tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text(f'"/orders" = "{KEY}"')
    keys.chmod(0o600)
    (port,) = free_ports(1)
    url, is_away = f"http://127.0.0.1:{port}", False

    def answer(path: str, number: int) -> web.Response:
        return web.Response(status=503 if is_away and path == "/b" else 200)

    apps, first = MemoryApps(SystemClock()), await log_begins(session)
    async with call_server(answer) as server:
        receiving = ReceivingTerms(f"127.0.0.1:{port}", keys)
        terms = replace(TERMS, addresses=((ORIGIN, server.url),), receiving=receiving)
        async with published(session, apps, first, terms) as world:
            await world.publish("outer", TEXT)
            await world.until("outer", "running")
            await give(url, 1, "a")
            await until(server, "/a 101")
            is_away = True
            await give(url, 2, "b")
            await until(server, "/b 102")
            await world.publish("outer", TEXT.replace("100L", "200L"))
            await world.until("outer", "running")
            await give(url, 3, "a")
            await until(server, "/a 203")
            sink, source = await figures_of(world)
            # of the version before
            assert (sink["waiting"], source["rows"], source["rejected"]) == (1, 1, 0)
        is_away = False
        before = len(server.asked)
        async with published(session, apps, first, terms) as world:
            await world.until("outer", "running")
            await give(url, 4, "b")
            await until(server, "/b 204")
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while (await figures_of(world))[0]["waiting"]:
                    await SystemClock().sleep(0.05)
    assert set(taken(server)) == {"/a 101", "/b 102", "/a 203", "/b 204"}
    assert [one for one in taken(server)[before:] if one.startswith("/b")] == ["/b 102", "/b 204"]
