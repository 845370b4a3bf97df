"""Rows of stream apps' tables in MongoDB: by app and partition, in their order, and written again without harm."""

from collections.abc import AsyncIterator

import pytest

from store.operations.app_tables import KeptChange, KeptPlace, MongoAppTables
from store.server.client import Database, connect, database_of
from store.server.documents import APP_TABLES
from store.server.indexes import create_indexes
from tests.databases import lent_database


@pytest.fixture
async def database(mongodb_uri: str) -> AsyncIterator[Database]:
    client = connect(mongodb_uri)
    async with lent_database(mongodb_uri) as name:
        await create_indexes(database_of(client, name))
        yield database_of(client, name)
    client.close()


def put(key: str, number: int, at: int, **row: object) -> KeptChange:
    return KeptChange("signals", key, number, row, (at, 0, 0))


def gone(key: str, at: int) -> KeptChange:
    return KeptChange("signals", key, 0, None, (at, 0, 0))


CHANGES = [
    put("2", 2, 10, price=1.5),
    put("1", 1, 20, price=2.5),
    put("2", 2, 30, price=3.5),
    put('["x"]', 0, 40, price=None, exact="0.1"),
    gone("1", 50),
]
KEPT = [(2, {"price": 3.5}), (0, {"price": None, "exact": "0.1"})]


async def test_the_last_word_is_kept_in_the_order_of_the_first(database: Database) -> None:
    tables = MongoAppTables(database, "mine")
    assert await tables.place(0) == KeptPlace()
    place = KeptPlace(7, {"mine-1": (50, 3, 1)}, {"signals": 6})
    await tables.write(0, CHANGES, place)
    assert await tables.rows(0, "signals") == KEPT
    assert await tables.place(0) == place


async def test_written_again_from_anywhere_it_is_the_same(database: Database) -> None:
    tables = MongoAppTables(database, "mine")
    await tables.write(0, CHANGES, KeptPlace(5))
    for first in range(len(CHANGES) + 1):
        await tables.write(0, CHANGES[first:], KeptPlace(5))
        assert await tables.rows(0, "signals") == KEPT


async def test_apps_partitions_and_collections_have_rows_of_their_own(database: Database) -> None:
    mine, other = MongoAppTables(database, "mine"), MongoAppTables(database, "mine:0")
    await mine.write(0, CHANGES, KeptPlace(5))
    await other.write(0, [put("2", 2, 1, price=9.0)], KeptPlace(1))
    await mine.write(
        1, [put("2", 2, 1, price=8.0), KeptChange("position", "1", 1, {"price": 7.0}, (1, 0, 0))], KeptPlace(3)
    )
    assert await mine.rows(0, "signals") == KEPT
    assert await mine.rows(1, "signals") == [(2, {"price": 8.0})]
    assert await mine.rows(1, "position") == [(1, {"price": 7.0})]
    assert await other.rows(0, "signals") == [(2, {"price": 9.0})]
    assert [(await one.place(at)).next for one, at in ((mine, 0), (mine, 1), (other, 0))] == [5, 3, 1]
    assert await database[APP_TABLES].count_documents({"app": "mine"}) == len(KEPT) + 2


async def test_regions_have_rows_and_places_of_their_own(database: Database) -> None:
    alone, us, eu = (MongoAppTables(database, "mine", region) for region in (None, "us", "eu"))
    await alone.write(0, CHANGES, KeptPlace(5))
    await us.write(0, [put("2", 2, 1, price=9.0)], KeptPlace(900, {"mine-1": (9, 9, 9)}, {"signals": 899}))
    assert await eu.place(0) == KeptPlace()
    assert await eu.rows(0, "signals") == []
    # the key is gone in one region alone
    await eu.write(0, [gone("2", 1)], KeptPlace(2))
    assert await us.rows(0, "signals") == [(2, {"price": 9.0})]
    assert await alone.rows(0, "signals") == KEPT
    assert [(await one.place(0)).next for one in (alone, us, eu)] == [5, 900, 2]


async def test_without_regions_documents_are_as_they_were(database: Database) -> None:
    await MongoAppTables(database, "mine").write(0, [put("2", 2, 10, price=1.5)], KeptPlace(7))
    assert await database[APP_TABLES].find({}, sort=[("_id", 1)]).to_list() == [
        {"_id": "mine:0:position", "next": 7, "last": {}, "changed": {}},
        {
            "_id": "mine:0:signals:2",
            "app": "mine",
            "collection": "signals",
            "partition": 0,
            "number": 2,
            "at": 10,
            "place": 0,
            "turn": 0,
            "row": {"price": 1.5},
        },
    ]


async def test_rows_of_one_input_row_are_in_their_order(database: Database) -> None:
    tables = MongoAppTables(database, "mine")
    changes = [KeptChange("signals", str(at), at, {"price": at}, (10, 3, at)) for at in range(1, 13)]
    await tables.write(0, changes, KeptPlace(12))
    assert [number for number, _ in await tables.rows(0, "signals")] == [*range(1, 13)]


def shared(key: str, stamp: str, **row: object) -> KeptChange:
    return KeptChange("signals", key, 0, row or None, (1, 0, 0), stamp)


SHARED = [
    shared('["a"]', "10 us", price=1.5),
    shared('["a"]', "20 eu", price=2.5, currency="$x"),
    shared('["b"]', "30 us", price=3.5),
    shared('["b"]', "40 jp"),
]
LAST = [(["a"], {"price": 2.5, "currency": "$x"}, "20 eu"), (["b"], None, "40 jp")]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2, 1, 3)])
async def test_what_regions_share_is_one_row_whoever_writes_it_first(
    database: Database, order: tuple[int, ...]
) -> None:
    us, eu = (MongoAppTables(database, "mine", region) for region in ("us", "eu"))
    for number, at in enumerate(order):
        await (us, eu)[number % 2].write(0, [SHARED[at]], KeptPlace(number))
    assert await us.shared_rows(0, "signals") == await eu.shared_rows(0, "signals") == LAST
    assert await us.rows(0, "signals") == []
    assert await us.shared_rows(1, "signals") == []


async def test_stamps_of_rows_that_are_gone_are_forgotten(database: Database) -> None:
    us = MongoAppTables(database, "mine", "us")
    await us.write(0, SHARED, KeptPlace(1))
    await us.forget("40")
    assert await us.shared_rows(0, "signals") == LAST
    await us.forget("50")
    assert await us.shared_rows(0, "signals") == LAST[:1]
