"""Watchers that fall behind a rolled oplog go on from a snapshot."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from pymongo import MongoClient

from market.trade.grants import Grant
from market.trade.leases import UNFENCED
from store.errors import HistoryLostError
from store.mongo.store import MongoTradeStore
from store.queries.trade_reader import StoreChange, TradeReader
from store.server.change_streams import ChangeFollower, ChangeStreamProgress
from store.server.client import Client, connect
from tests.services import LOGIN, mongod_process, wait_primary
from tests.store.booking import finish_leg, record_sent
from tests.store.reservation_requests import close, open_books, opportunity, reserved
from tests.store.rolling import SMALL_OPLOG, roll_oplog

DEADLINE_SECONDS = 60
DATABASE = "rolled"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """Yield a client of a server whose oplog holds very little."""
    with mongod_process(tmp_path, SMALL_OPLOG) as process:
        await wait_primary(process)
        client = connect(process.address)
        yield client
        client.close()


async def test_a_rolled_oplog_is_answered_with_what_stands_now(client: Client) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), MongoTradeStore(client, DATABASE, "session-1") as store:
        await store.prepare()
        await open_books(store)
        arbitrage = await reserved(store, opportunity())
        watched = store.watch_grants("alpha")
        changes = TradeReader(client, DATABASE).watch()
        assert (await anext(watched)).leg == arbitrage.legs[0]
        assert await anext(changes) is None
        await record_sent(store, arbitrage.arbitrage_id, "buy", "order-1", UNFENCED)
        assert await anext(changes) == await store.arbitrage(arbitrage.arbitrage_id)
        await finish_leg(store, arbitrage.arbitrage_id, "buy", None, close, UNFENCED)
        await finish_leg(store, arbitrage.arbitrage_id, "sell", None, close, UNFENCED)
        missed = await reserved(store, opportunity("opportunity-2", sequence=2))
        await roll_oplog(client)
        with pytest.raises(HistoryLostError):
            await drained(changes)
        assert await anext(watched) == Grant("opportunity-2", missed.legs[0])
        await finish_leg(store, "opportunity-2", "buy", None, close, UNFENCED)
        await finish_leg(store, "opportunity-2", "sell", None, close, UNFENCED)
        await reserved(store, opportunity("opportunity-3", sequence=3))
        assert (await anext(watched)).arbitrage_id == "opportunity-3"
        await watched.aclose()


async def test_an_old_token_begins_again(client: Client) -> None:
    rows = client[DATABASE]["rows"]
    await rows.insert_one({"_id": 0})
    async with asyncio.timeout(DEADLINE_SECONDS), rows.watch() as stream:
        await rows.insert_one({"_id": 1})
        await stream.next()
        token = stream.resume_token
    await rows.insert_one({"_id": 2})
    async with asyncio.timeout(DEADLINE_SECONDS), ChangeFollower(rows, after=token) as resumed:
        change = await resumed.next()
        assert change is not None
        assert change["fullDocument"] == {"_id": 2}
    await roll_oplog(client)
    async with asyncio.timeout(DEADLINE_SECONDS), ChangeFollower(rows, after=token) as again:
        assert await again.next() is None
        await rows.insert_one({"_id": 3})
        change = await again.next()
        assert change is not None
        assert change["fullDocument"] == {"_id": 3}


async def test_a_server_that_is_away_is_no_lost_history(caplog: pytest.LogCaptureFixture) -> None:
    client, standing = connect("mongodb://127.0.0.1:1/?replicaSet=rs0", selection_ms=10), ChangeStreamProgress()
    follower = ChangeFollower(client[DATABASE]["rows"], progress=standing)
    watching = asyncio.create_task(follower.next())
    async with asyncio.timeout(DEADLINE_SECONDS):
        while caplog.messages.count("change stream reopened") < 2:  # noqa: ASYNC110 - the log tells by no event
            await asyncio.sleep(0.01)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    client.close()
    assert standing.lost == 0


async def drained(changes: AsyncIterator[StoreChange | None]) -> None:
    async for _ in changes:
        continue


async def test_a_change_does_not_wait_behind_the_other_calls_of_the_process(client: Client) -> None:
    """Sixty of them, each for a second, on fewer threads; the writer is none of this process's."""
    quiet = [client[DATABASE]["quiet"].watch(max_await_time_ms=1_000) for _ in range(60)]
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        AsyncExitStack() as opened,
        ChangeFollower(client[DATABASE]["rows"]) as follower,
    ):
        assert await follower.next() is None
        streams = [await opened.enter_async_context(stream) for stream in quiet]
        me = (await client.admin.command("hello"))["me"]
        waiting = [asyncio.create_task(stream.try_next()) for stream in streams]
        await asyncio.to_thread(insert_elsewhere, f"mongodb://{me}/?directConnection=true")
        assert await follower.next() is not None
        assert sum(task.done() for task in waiting) < len(waiting) / 2
        await asyncio.gather(*waiting)


def insert_elsewhere(address: str) -> None:
    with MongoClient[dict[str, object]](address, username=LOGIN.user, password=LOGIN.password) as other:
        other[DATABASE]["rows"].insert_one({"_id": "anywhere"})
