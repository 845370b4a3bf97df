"""Documents and changes of a real MongoDB."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cep.apps.ends.sink_ends import MongoTarget
from cep.apps.ends.source_ends import MongoChanges
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.transports.mongo_ends import MongoReceiver, MongoSender
from cep.apps.transports.ports import NotTakenError, OutgoingRow, RowsRefusedError
from runtime.logins import Address, Login
from store.server.client import connect
from streams.errors import StreamUnavailableError
from tests.cep.apps.transports.kept_rows import KeptRows, PlaceInMemory
from tests.databases import lent_database

SERVER = "mongodb://shop.example.com:27017"


@pytest.fixture
async def database(mongodb_uri: str) -> AsyncIterator[str]:
    async with lent_database(mongodb_uri) as name:
        yield name


def row(number: int, **values: object) -> OutgoingRow:
    return OutgoingRow(f"id:{number}", number, {"n": number, "place": "eu", **values})


def sender(uri: str, database: str, key: str | None = None) -> MongoSender:
    return MongoSender(MongoTarget(SERVER, database, "totals", key), uri)


async def documents(uri: str, database: str) -> list[dict[str, object]]:
    client = connect(uri)
    found = [one async for one in client[database]["totals"].find().sort("_id")]
    client.close()
    return found


async def test_rows_are_documents_and_one_that_comes_again_is_one(mongodb_uri: str, database: str) -> None:
    sent = sender(mongodb_uri, database)
    await sent.send("", [row(1), row(2)])
    await sent.send("", [row(2), row(3)])
    await sent.close()
    assert await documents(mongodb_uri, database) == [{"_id": f"id:{n}", "n": n, "place": "eu"} for n in (1, 2, 3)]


async def test_a_key_keeps_the_last_row_of_each(mongodb_uri: str, database: str) -> None:
    sent = sender(mongodb_uri, database, "place")
    await sent.send("", [row(1), row(2, place="us"), row(3)])
    with pytest.raises(RowsRefusedError, match="the row has no 'place'"):
        await sent.send("", [row(4, place=None)])
    await sent.close()
    assert await documents(mongodb_uri, database) == [
        {"_id": "eu", "n": 3, "place": "eu"},
        {"_id": "us", "n": 2, "place": "us"},
    ]


async def test_a_document_that_no_collection_takes_is_refused(mongodb_uri: str, database: str) -> None:
    sent = sender(mongodb_uri, database)
    with pytest.raises(RowsRefusedError, match="cannot store a value"):
        await sent.send("", [row(1, n=2**70)])
    client = connect(mongodb_uri)
    await client[database].create_collection("totals", validator={"n": {"$lt": 10}})
    with pytest.raises(RowsRefusedError, match="code 121"):
        await sent.send("", [row(1), row(11)])
    client.close()
    await sent.close()


async def test_a_right_that_the_login_lacks_is_no_fault_of_the_rows(mongodb_uri: str, database: str) -> None:
    client = connect(mongodb_uri)
    await client.admin.command("createUser", "reader", pwd="reader", roles=[{"role": "read", "db": database}])
    try:
        sent = sender(Address(mongodb_uri, Login("reader", "reader")), database)
        with pytest.raises(NotTakenError, match="not authorized"):
            await sent.send("", [row(1)])
        await sent.close()
        sent = sender(Address(mongodb_uri, Login("reader", "another")), database)
        with pytest.raises(NotTakenError, match="refused the login"):
            await sent.send("", [row(1)])
        await sent.close()
    finally:
        await client.admin.command("dropUser", "reader")
        client.close()


async def test_a_server_that_is_away_is_tried_again() -> None:
    sent = sender("mongodb://127.0.0.1:9/?connectTimeoutMS=100", "shop")
    with pytest.raises(NotTakenError, match="MongoDB is not reachable"):
        await sent.send("", [row(1)])
    await sent.close()


async def test_changes_come_once_and_go_on_behind_the_last_that_was_kept(mongodb_uri: str, database: str) -> None:
    changes = MongoChanges(SERVER, database, "orders", ("insert", "update", "delete"))
    place, kept = PlaceInMemory(), KeptRows()
    client = connect(mongodb_uri)
    orders = client[database]["orders"]

    def received() -> "asyncio.Task[None]":
        receiver = MongoReceiver(changes, mongodb_uri, place, CountedWarnings({}))
        return asyncio.create_task(receiver.run(kept))

    task = received()
    async with asyncio.timeout(60):
        while place.place is None:  # noqa: ASYNC110 - the other task
            await asyncio.sleep(0.01)
    await orders.insert_one({"_id": 1, "n": 1})
    await orders.update_one({"_id": 1}, {"$set": {"n": 2}})
    assert await kept.until(2) == ['{"_id":1,"n":1}', '{"_id":1,"n":2}']
    # a change that cannot be kept ends the run, and comes again
    kept.fails = 1
    await orders.insert_one({"_id": 2, "n": 3})
    with pytest.raises(StreamUnavailableError):
        await task
    await orders.delete_one({"_id": 1})
    task = received()
    assert await kept.until(4) == ['{"_id":1,"n":1}', '{"_id":1,"n":2}', '{"_id":2,"n":3}', '{"_id":1}']
    assert [one.properties["operation"] for one in kept.messages] == ["insert", "update", "insert", "delete"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    client.close()
