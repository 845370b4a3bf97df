"""Queues of notices in MongoDB: each notice once, whatever became of it, and never too many."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from session.notice_destinations import Destination
from store.operations.notices import MAX_QUEUED, MongoNotices
from store.server.client import Client, connect, database_of
from store.server.documents import NOTICES
from store.server.indexes import create_indexes
from tests.databases import lent_database
from tests.notices.samples import alarm, trade

DESK = Destination("desk", "webhook")


@pytest.fixture
async def client(mongodb_uri: str) -> AsyncIterator[Client]:
    opened = connect(mongodb_uri)
    yield opened
    opened.close()


@pytest.fixture
async def notices(client: Client, mongodb_uri: str) -> AsyncIterator[MongoNotices]:
    async with lent_database(mongodb_uri) as name:
        await create_indexes(database_of(client, name))
        yield MongoNotices(database_of(client, name))


async def ids_waiting(notices: MongoNotices, destination: str = "desk") -> list[str]:
    return [row.notice.notice_id for row in await notices.waiting(destination)]


async def test_one_of_another_version_holds_up_no_other(notices: MongoNotices) -> None:
    await notices.put("desk", [trade(1), trade(2), trade(3)])
    changed = {"$set": {"notice.kind": "of another version"}}
    await notices._database[NOTICES].update_one({"_id": "desk|trade:1"}, changed)
    assert await ids_waiting(notices) == ["trade:2", "trade:3"]


async def test_a_place_is_kept(notices: MongoNotices) -> None:
    first = await notices.place(DESK)
    assert (first.token, first.standing, first.since) == (None, {}, first.read_at)
    read_at = await notices.store_token("desk", "82AB")
    await notices.store_ongoing("desk", {"feed:kraken": 5})
    again = await notices.place(DESK)
    assert (again.since, again.token, again.read_at) == (first.since, "82AB", read_at)
    assert again.standing == {"feed:kraken": 5}
    assert (await notices.place(Destination("phone", "telegram"))).token is None


async def test_a_notice_is_put_once_whatever_became_of_it(notices: MongoNotices) -> None:
    await notices.place(DESK)
    assert await notices.put("desk", []) == 0
    assert await notices.put("desk", [trade(1), trade(2), trade(3)]) == 3
    await notices.bind("desk", ["trade:1"], "a")
    await notices.record_sent("desk", "a")
    await notices.bind("desk", ["trade:2"], "b")
    assert await notices.mark_failed("desk", "b", "HTTP 404 Not Found") == 1
    assert await notices.put("desk", [trade(1), trade(2), trade(3), alarm(1)]) == 1
    assert await ids_waiting(notices) == ["trade:3", "alarm:1"]
    assert await notices.put("phone", [trade(1)]) == 1, "each destination has a queue of its own"
    (state,) = await notices.states()
    assert (state.waiting, state.sent, state.failed) == (2, 1, 1)
    (failed,) = await notices.failed()
    assert (failed.notice, failed.reason) == (trade(2), "HTTP 404 Not Found")


async def test_two_notifiers_put_the_same_at_the_same_time(notices: MongoNotices) -> None:
    await notices.place(DESK)
    reported = [trade(number) for number in range(30)]
    counts = await asyncio.gather(*(notices.put("desk", reported) for _ in range(4)))
    assert sum(counts) == len(await ids_waiting(notices)) == 30


async def test_what_was_sent_or_given_up_twice_counts_once(notices: MongoNotices) -> None:
    await notices.place(DESK)
    await notices.put("desk", [trade(1), trade(2)])
    await notices.bind("desk", ["trade:1", "trade:2"], "both")
    assert [row.batch for row in await notices.waiting("desk")] == ["both", "both"]
    await notices.record_sent("desk", "both")
    await notices.record_sent("desk", "both")
    assert await notices.mark_failed("desk", "both", "late") == 0
    (state,) = await notices.states()
    assert (state.sent, state.failed, state.waiting) == (2, 0, 0)


async def test_failures_count_until_one_arrives(notices: MongoNotices) -> None:
    await notices.place(DESK)
    await notices.put("desk", [trade(1)])
    await notices.bind("desk", ["trade:1"], "a")
    await notices.record_failure("desk", "HTTP 500", 7)
    await notices.record_failure("desk", "HTTP 502", 9)
    (state,) = await notices.states()
    assert (state.failures, state.last_error, state.next_try_at) == (2, "HTTP 502", 9)
    await notices.record_sent("desk", "a")
    (state,) = await notices.states()
    assert (state.failures, state.last_error, state.next_try_at) == (0, "HTTP 502", 0)
    assert state.last_sent_at > 0


async def test_of_too_many_the_oldest_trades_are_given_up_first(notices: MongoNotices) -> None:
    await notices.place(DESK)
    await notices.put("desk", [alarm(1)])
    await notices.put("desk", [trade(number) for number in range(5)])
    await notices.put("desk", [trade(number) for number in range(5, MAX_QUEUED + 3)])
    left = await ids_waiting(notices)
    assert len(left) == MAX_QUEUED
    assert "alarm:1" in left
    oldest = {f"trade:{number}" for number in range(5)}
    assert len(oldest & set(left)) == 1
    (state,) = await notices.states()
    assert (state.failed, state.last_error) == (4, "more than 1000 were waiting")
