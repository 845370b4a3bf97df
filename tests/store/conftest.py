"""Stores to test: the one in memory, and MongoDB's in a database of the test's own."""

from collections.abc import AsyncIterator

import pytest

from market.time_units import MICROSECONDS
from store.memory.store import MemoryTradeStore
from store.mongo.store import MongoTradeStore
from store.ports.trading import TradeStore
from store.queries.trade_reader import TradeReader
from store.server.client import connect
from tests.databases import lent_database
from tests.store.reservation_requests import FREE, open_books


class SteppedClock:
    """Stands still until moved; sleeping moves it."""

    def __init__(self) -> None:
        self.time = 1_700_000_000 * MICROSECONDS

    def now(self) -> int:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += int(seconds * MICROSECONDS)


@pytest.fixture
def store_clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def database(mongodb_uri: str) -> AsyncIterator[str]:
    """Yield the name of the test's own database."""
    async with lent_database(mongodb_uri) as name:
        yield name


@pytest.fixture
async def mongo_store(mongodb_uri: str, database: str) -> AsyncIterator[MongoTradeStore]:
    client = connect(mongodb_uri)
    async with MongoTradeStore(client, database, "session-1") as store:
        await store.prepare()
        yield store


@pytest.fixture
async def reader(mongodb_uri: str, database: str, mongo_store: MongoTradeStore) -> AsyncIterator[TradeReader]:
    """Yield a reader of books that are open, for any number of arbitrages."""
    await open_books(mongo_store, FREE)
    reader = TradeReader(connect(mongodb_uri), database, "session-1")
    yield reader
    await reader.close()


@pytest.fixture(params=["memory", "mongo"])
def store(request: pytest.FixtureRequest) -> TradeStore:
    """Every test of the contract runs on both."""
    if request.param == "memory":
        return MemoryTradeStore(session_id="session-1")
    mongo: TradeStore = request.getfixturevalue("mongo_store")
    return mongo
