"""The hub's way to MongoDB is cut: what came about meanwhile is neither lost nor passed over in silence."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from session.session import Session
from store.mongo.store import MongoTradeStore, open_store
from store.queries.trade_reader import TradeReader
from store.server.client import connect
from tests.services import mongod_process, wait_primary
from tests.store.reservation_requests import open_books, opportunity
from tests.store.rolling import SMALL_OPLOG, roll_oplog
from tests.ui.live.link import Link, link_to
from tests.ui.samples import SETTINGS, session_of
from tests.ui.trading import traded
from tests.ui.waiting import until
from ui.stream.live_hub import LiveHub


@dataclass
class Listener:
    """A client that hears all its life, as a page does."""

    kinds: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)
    """Trade → the state that it was told last."""
    mongodb: list[bool] = field(default_factory=list)

    async def listen(self, hub: LiveHub) -> None:
        async with hub.broadcaster.client() as client:
            async for message in hub.broadcaster.messages(client):
                self.take(orjson.loads(message.text))

    def take(self, message: dict[str, object]) -> None:
        self.kinds.append(str(message["type"]))
        rows = message.get("arbitrages") or ([message["arbitrage"]] if "arbitrage" in message else [])
        assert isinstance(rows, list)
        self.seen |= {row["arbitrage_id"]: row["state"] for row in rows}
        if isinstance(sources := message.get("sources"), dict):
            self.mongodb.append(sources["mongodb"])


@asynccontextmanager
async def following(session: Session, link: Link) -> AsyncIterator[tuple[LiveHub, Listener]]:
    """Return a hub behind the link; Kafka is nowhere."""
    client = connect(link.uri)
    reader = TradeReader(client, session.services.database, session.session_id)
    hub, listener = LiveHub(session, reader), Listener()
    running = asyncio.gather(hub.run(), listener.listen(hub))
    await until(lambda: hub.live_state.sources.mongodb and "snapshot" in listener.kinds)
    yield hub, listener
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    # it says goodbye over the link, which lives on this loop
    await asyncio.to_thread(client.close)


async def test_an_outage_is_reported_and_nothing_of_it_is_missed(session: Session, store: MongoTradeStore) -> None:
    async with link_to(session.services.mongodb) as link, following(session, link) as (_, listener):
        await traded(store, opportunity("before", 1))
        await until(lambda: listener.seen.get("before") == "closed")
        await link.cut()
        await until(lambda: listener.mongodb[-1] is False)
        await traded(store, opportunity("meanwhile", 2))
        heard = len(listener.kinds)
        await link.mend()
        await until(lambda: listener.mongodb[-1] is True)
        await until(lambda: listener.seen.get("meanwhile") == "closed")
    assert "snapshot" not in listener.kinds[heard:], "its changes were still to be had"


async def test_a_mongodb_that_is_stuck_is_reported_as_well(session: Session, store: MongoTradeStore) -> None:
    async with link_to(session.services.mongodb) as link, following(session, link) as (_, listener):
        link.stall()
        await until(lambda: listener.mongodb[-1] is False)
        await traded(store, opportunity("meanwhile", 2))
        link.flow()
        await until(lambda: listener.mongodb[-1] is True)
        await until(lambda: listener.seen.get("meanwhile") == "closed")


async def test_lost_history_is_healed_by_a_snapshot_and_stands_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with mongod_process(tmp_path, SMALL_OPLOG) as process:
        await wait_primary(process)
        session = session_of(tmp_path, process.address, "rolled")
        async with await open_store(session) as store, link_to(process.address) as link:
            await open_books(store, SETTINGS)
            async with following(session, link) as (_, listener):
                await traded(store, opportunity("before", 1))
                await until(lambda: listener.seen.get("before") == "closed")
                await link.cut()
                await traded(store, opportunity("meanwhile", 2))
                filler = connect(process.address)
                await roll_oplog(filler)
                filler.close()
                heard = len(listener.kinds)
                with caplog.at_level(logging.WARNING, "ui"):
                    await link.mend()
                    await until(lambda: listener.seen.get("meanwhile") == "closed", 40)
                await traded(store, opportunity("after", 3))
                await until(lambda: listener.seen.get("after") == "closed")
    assert "snapshot" in listener.kinds[heard:]
    assert "change history lost, resyncing" in caplog.messages
