"""The contract of the error store of stream apps, on both adapters."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from runtime.clock import SystemClock
from store.memory.failed_rows import MemoryFailedRows
from store.operations.failed_rows import MongoFailedRows
from store.ports.apps import FailedRows
from store.records.failed_rows import MOST_ROW_BYTES, FailedChoice, FailedRow
from store.server.client import connect, database_of
from store.server.indexes import create_indexes

MOST = 5
ALL = FailedChoice()


@pytest.fixture
async def mongo_failed(mongodb_uri: str, database: str) -> AsyncIterator[FailedRows]:
    client = connect(mongodb_uri)
    await create_indexes(database_of(client, database))
    yield MongoFailedRows(database_of(client, database), MOST)
    client.close()


@pytest.fixture(params=["memory", "mongo"])
def failed(request: pytest.FixtureRequest) -> FailedRows:
    """Return a store that keeps five rows of an app."""
    if request.param == "memory":
        return MemoryFailedRows(SystemClock(), MOST)
    mongo: FailedRows = request.getfixturevalue("mongo_failed")
    return mongo


def row(number: int, app: str = "orders", **changed: Any) -> FailedRow:
    made = FailedRow(f"orders-1:0:{number}:0", app, "Raw", "row", {"text": f"t{number}"}, "no hexadecimal text")
    named: dict[str, Any] = {"time": number, "occurrence": f"o{number}"} | changed
    return replace(made, **named)


async def ids(failed: FailedRows, choice: FailedChoice = ALL, app: str = "orders") -> list[str]:
    return [one.id.split(":")[2] for one in await failed.page(app, choice)]


async def test_rows_are_listed_in_the_order_in_which_they_failed_first(failed: FailedRows) -> None:
    await failed.add([row(3), row(1)])
    await failed.add([row(2), row(9, app="others")])
    assert await ids(failed) == ["3", "1", "2"]
    (first, second) = await failed.page("orders", ALL, most=2)
    assert await failed.page("orders", ALL, after=second.place) == (await failed.page("orders", ALL))[2:]
    assert (first.values, first.error, first.attempts, first.state, first.time) == (
        {"text": "t3"},
        "no hexadecimal text",
        1,
        "waiting",
        3,
    )
    assert first.at == first.first_at > 0
    assert await failed.count("orders", ALL) == 3


async def test_a_row_that_fails_again_is_the_same_row_and_the_same_failure_no_other(failed: FailedRows) -> None:
    await failed.add([row(1), row(2)])
    assert await failed.claim(row(1), "ada") is not None
    assert [one.state for one in await failed.page("orders", ALL)] == ["replayed", "waiting"]
    await failed.add([row(1), row(2), row(1, occurrence="later", error="still none"), row(3)])
    found = await failed.page("orders", ALL)
    assert [(one.attempts, one.state, one.error) for one in found] == [
        (2, "waiting", "still none"),
        (1, "waiting", "no hexadecimal text"),
        (1, "waiting", "no hexadecimal text"),
    ]
    assert await ids(failed) == ["1", "2", "3"]
    # it failed again since it was read
    assert await failed.claim(row(1), "ada") is None
    await failed.release(row(2), "ada")
    await failed.release(row(1, occurrence="before"), "ada")
    assert (await failed.page("orders", ALL))[0] == found[0]


async def test_rows_are_found_by_what_they_have(failed: FailedRows) -> None:
    await failed.add([row(1), row(2, stream="Sent", kind="delivery", error="HTTP 503 (a.b)"), row(3)])
    await failed.claim(row(3), "ada")
    for choice, expected in (
        (FailedChoice(stream="Sent"), ["2"]),
        (FailedChoice(kind="row"), ["1", "3"]),
        (FailedChoice(state="replayed"), ["3"]),
        (FailedChoice(contains="http 503 (A"), ["2"]),
        (FailedChoice(contains='"T1"'), ["1"]),
        (FailedChoice(contains=".*"), []),
        (FailedChoice(keys=(row(3).key, row(1).key, "other")), ["1", "3"]),
        (FailedChoice(kind="row", state="waiting"), ["1"]),
    ):
        assert await ids(failed, choice) == expected, choice
        assert await failed.count("orders", choice) == len(expected)


async def test_a_row_is_edited_and_dropped(failed: FailedRows) -> None:
    await failed.add([row(1), row(2)])
    edited = await failed.edit(row(1).key, {"text": "4869", "more": 2**63}, "ada")
    assert edited is not None
    assert (edited.values, edited.changed_by, edited.attempts) == ({"text": "4869", "more": 2**63}, "ada", 1)
    assert (await failed.page("orders", ALL))[0] == edited
    assert await failed.edit("nobody's", {}, "ada") is None
    assert await failed.drop([row(1).key, "nobody's"]) == 1
    assert await ids(failed) == ["2"]
    assert await failed.claim(row(1), "ada") is None
    assert await ids(failed) == ["2"]


async def test_a_row_is_claimed_by_one_alone_as_it_is_by_then(failed: FailedRows) -> None:
    await failed.add([row(1)])
    (seen,) = await failed.page("orders", ALL)
    await failed.edit(seen.key, {"text": "4869"}, "bob")
    claims = await asyncio.gather(*(failed.claim(seen, who) for who in ("ada", "bob", "eve")))
    (claimed,) = [one for one in claims if one is not None]
    assert (claimed.values, claimed.state) == ({"text": "4869"}, "replayed")
    # of those who saw that it was given, one alone may give it again
    again = await asyncio.gather(*(failed.claim(claimed, who) for who in ("ada", "bob", "eve")))
    assert sum(one is not None for one in again) == 1
    await failed.release(claimed, "ada")
    (seen,) = await failed.page("orders", ALL)
    assert (seen.state, seen.claims) == ("waiting", 2)
    assert await failed.claim(claimed, "ada") is None
    assert await failed.claim(seen, "ada") is not None


async def test_no_more_than_so_many_rows_of_an_app_are_kept(failed: FailedRows) -> None:
    assert await failed.add([row(0, app="others")]) == 0
    dropped = [await failed.add([row(2 * number), row(2 * number + 1)]) for number in range(4)]
    assert dropped == [0, 0, 1, 2]
    assert await ids(failed) == ["3", "4", "5", "6", "7"]
    assert await ids(failed, app="others") == ["0"]


async def test_of_a_long_row_the_reason_alone_is_kept(failed: FailedRows) -> None:
    await failed.add([row(1, values={"text": "x" * MOST_ROW_BYTES}, error="e" * 5_000)])
    (found,) = await failed.page("orders", ALL)
    assert found.values == {}
    assert found.error.endswith("(the row has 65,547 bytes, and is not kept)")
    assert len(found.error) < 1_100


async def test_nothing_is_added_of_nothing(failed: FailedRows) -> None:
    await failed.add([])
    assert await failed.count("orders", ALL) == 0
