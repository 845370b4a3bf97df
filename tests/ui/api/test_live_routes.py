"""The stream for programs, over a real socket: it never ends, so a client that waits for the whole would too."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import orjson
import pytest
import websockets
from fastapi import FastAPI

from store.mongo.store import MongoTradeStore
from tests.store.reservation_requests import opportunity
from tests.ui.clients import client_at
from tests.ui.trading import traded
from ui.server.web_server import WebServer, bound_socket, uvicorn_config

Event = dict[str, str]


@pytest.fixture
async def address(application: FastAPI) -> AsyncIterator[str]:
    with bound_socket("127.0.0.1", 0) as listener:
        # `application` is started already
        config = uvicorn_config(application)
        config.lifespan = "off"
        server = WebServer(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await server.wait_started(serving)
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        await serving


async def events(response: httpx.Response) -> AsyncIterator[Event]:
    """As the standard has them: fields until an empty line."""
    event: Event = {}
    async for line in response.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        else:
            yield event
            event = {}


async def test_programs_receive_trades_and_go_on_where_they_left(address: str, store: MongoTradeStore) -> None:
    async with asyncio.timeout(20), client_at(address) as client:
        async with client.stream("GET", "/api/stream") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            reported = events(response)
            assert await anext(reported) == {"retry": "1000"}
            first = await anext(reported)
            assert first["event"] == "snapshot"
            await traded(store, opportunity("pushed", 1))
            async for event in reported:
                message = orjson.loads(event["data"])
                assert (message["type"], str(message["sequence"])) == (event["event"], event["id"])
                if event["event"] == "trade" and message["state"] == "closed":
                    break
        await traded(store, opportunity("while away", 2))
        async with client.stream("GET", "/api/stream", headers={"Last-Event-ID": event["id"]}) as response:
            reported = events(response)
            await anext(reported)
            snapshot = orjson.loads((await anext(reported))["data"])
    assert snapshot["is_complete"] is True
    assert {"pushed", "while away"} <= {row["arbitrage_id"] for row in snapshot["arbitrages"]}
    assert int(event["id"]) < snapshot["sequence"]


async def test_a_page_says_which_asset_it_shows_and_a_program_gets_all(address: str) -> None:
    async with asyncio.timeout(20), websockets.connect(f"ws://{address}/ws/live?base=", max_size=None) as page:
        assert orjson.loads(await page.recv())["base"] == "BTC"
        for nonsense in ("", "{", "[]", '{"base": 1}', '{"base": "' + "x" * 200 + '"}', b"\xff"):
            await page.send(nonsense)
        await page.send('{"base": "ETH"}')
        while (message := orjson.loads(await page.recv()))["type"] != "snapshot":
            pass
        assert message["base"] == "ETH"
    async with asyncio.timeout(20), websockets.connect(f"ws://{address}/ws/live", max_size=None) as program:
        assert orjson.loads(await program.recv())["base"] is None
    async with client_at(address) as client:
        answer = await client.get("/api/stream", params={"base": "XRP"})
    assert (answer.status_code, answer.json()["detail"]) == (422, "This session has no asset 'XRP'; it has BTC.")


async def test_a_program_may_ask_for_trades_alone(address: str, store: MongoTradeStore) -> None:
    async with asyncio.timeout(20), websockets.connect(f"ws://{address}/ws/live?only=trades", max_size=None) as program:
        kinds = [orjson.loads(await program.recv())["type"]]
        await traded(store, opportunity("pushed", 1))
        while (message := orjson.loads(await program.recv())).get("state") != "closed":
            kinds.append(message["type"])
        assert kinds[0] == "snapshot"
        assert set(kinds[1:]) <= {"trade"}
    with pytest.raises(websockets.InvalidStatus):
        await websockets.connect(f"ws://{address}/ws/live?only=prices")


@pytest.mark.parametrize("identity", ["x", "-1", "9" * 5_000, "1.5", "", "\xb2"])
async def test_a_last_event_that_is_none_of_ours_counts_as_none(address: str, identity: str) -> None:
    async with (
        asyncio.timeout(60),
        client_at(address) as client,
        client.stream("GET", "/api/stream", headers=[(b"Last-Event-ID", identity.encode("latin-1"))]) as response,
    ):
        reported = events(response)
        await anext(reported)
        assert (await anext(reported))["event"] == "snapshot"


@pytest.mark.parametrize("since", ["x", "-1", "99999999999999999999"])
async def test_a_since_that_is_no_sequence_is_rejected(address: str, since: str) -> None:
    async with client_at(address) as client:
        answer = await client.get("/api/stream", params={"since": since})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    with pytest.raises(websockets.InvalidStatus):
        await websockets.connect(f"ws://{address}/ws/live?since={since}")
