"""The whole process, on real MongoDB, real Kafka and real sockets."""

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import orjson
import pytest
import websockets

from runtime.clock import wall_now
from session.session import Session
from store.mongo.store import MongoTradeStore
from streams.message_format import quote_row
from streams.topic_admin import ensure_topics
from streams.topic_writer import TopicWriter
from streams.topics import TICKS
from tests.market.samples import USD_MARKET
from tests.store.reservation_requests import opportunity
from tests.ui.clients import client_at
from tests.ui.samples import quote, session_of
from tests.ui.serving import Served, served, served_again
from tests.ui.trading import traded
from ui.errors import PortTakenError
from ui.server.web_server import bound_socket, run_ui


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory, mongodb_uri: str, kafka_address: str) -> Iterator[Served]:
    """One process for all tests of this module."""
    asyncio.run(ensure_topics(kafka_address, 1))
    home = tmp_path_factory.mktemp("dashboard")
    with served(session_of(home, mongodb_uri, f"test_{uuid4().hex}", kafka_address)) as running:
        yield running


@pytest.fixture
def address(dashboard: Served) -> str:
    return dashboard.address


@pytest.fixture
def session(dashboard: Served) -> Session:
    """So that `store` is the one that the process follows."""
    return dashboard.session


async def next_of(client: websockets.ClientConnection, kind: str) -> dict[str, object]:
    """Return the next message of that kind, within 20 s."""
    async with asyncio.timeout(20):
        while True:
            message: dict[str, object] = orjson.loads(await client.recv())
            if message["type"] == kind:
                return message


async def test_everything_is_on_one_origin(address: str) -> None:
    async with client_at(address) as client:
        answers = {
            path: (await client.get(path)) for path in ("/", "/api/health", "/docs", "/assets/panel.js", "/api/x")
        }
    assert {path: answer.status_code for path, answer in answers.items()} == {
        "/": 200, "/api/health": 200, "/docs": 200, "/assets/panel.js": 200, "/api/x": 404,
    }  # fmt: skip
    assert "Streamlit" in answers["/"].text


async def test_a_client_receives_a_quote_and_a_trade(address: str, store: MongoTradeStore, kafka_address: str) -> None:
    async with websockets.connect(f"ws://{address}/ws/live", origin=f"http://{address}", max_size=None) as client:  # type: ignore[arg-type]  # a plain str
        await next_of(client, "snapshot")
        writer = TopicWriter(kafka_address)
        try:
            writer.write(TICKS, quote_row(quote(USD_MARKET, "70000", "70002", wall_now())), partition=0)
            await writer.flush()
        finally:
            await writer.close()
        while "alpha BTC/USD" not in str((await next_of(client, "pulse"))["points"]):
            pass
        await traded(store, opportunity("pushed", 2))
        while (reported := await next_of(client, "trade"))["state"] != "closed":
            pass
        assert reported["arbitrage_id"] == "pushed"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
@pytest.mark.parametrize("path", ["/ws/live", "/_stcore/stream"])
async def test_another_sites_page_gets_no_socket(address: str, origin: str, path: str) -> None:
    with pytest.raises(websockets.InvalidStatus) as rejected:
        await websockets.connect(f"ws://{address}{path}", origin=origin)  # type: ignore[arg-type]  # a plain str
    assert rejected.value.response.status_code == 403


async def test_a_program_without_an_origin_may_listen(address: str) -> None:
    async with websockets.connect(f"ws://{address}/ws/live", max_size=None) as client:
        assert (await next_of(client, "pulse"))["sources"] == {"kafka": True, "mongodb": True}


async def test_it_ends_cleanly_with_clients_connected(dashboard: Served, tmp_path: Path) -> None:
    with served(replace(dashboard.session, home=tmp_path)) as running:
        async with websockets.connect(f"ws://{running.address}/ws/live", max_size=None) as client:
            await next_of(client, "snapshot")
            code = await asyncio.to_thread(running.stop)
        assert code == 0, running.log


async def test_killed_it_comes_back_with_all_there_was(
    dashboard: Served, store: MongoTradeStore, tmp_path: Path
) -> None:
    await traded(store, opportunity("before the kill"))
    session = replace(dashboard.session, home=tmp_path)
    with served(session) as first:
        first.kill()
    with served_again(first.session) as second:
        async with websockets.connect(f"ws://{second.address}/ws/live", max_size=None) as client:
            snapshot = await next_of(client, "snapshot")
    assert "before the kill" in str(snapshot["arbitrages"])


def test_the_log_holds_events_and_no_secret(dashboard: Served) -> None:
    assert (dashboard.session.home / "api_key").read_text().strip() not in dashboard.log
    assert "Traceback" not in dashboard.log


def test_an_address_that_is_none_ends_the_process_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="Not a MongoDB address"), served(session_of(tmp_path, "mongodb://")):
        pytest.fail("it must not start")


async def test_a_taken_port_is_one_clear_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortTakenError, match=rf"^Cannot serve on 127.0.0.1:{port}: .+\.$"):
            await run_ui(
                replace(session_of(tmp_path), page=replace(session_of(tmp_path).page, port=port)), lambda: None
            )


def test_it_binds_to_loopback_alone(tmp_path: Path) -> None:
    with bound_socket(session_of(tmp_path).page.host, 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


async def test_no_answer_waits_for_the_clients_acknowledgement(tmp_path: Path) -> None:
    """Nagle's algorithm would hold a body back until the header is acknowledged, which takes Linux 40 ms."""
    accepted = asyncio.get_running_loop().create_future()

    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with bound_socket(session_of(tmp_path).page.host, 0) as listener:
        async with await asyncio.start_server(connected, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            assert await accepted
            writer.close()
