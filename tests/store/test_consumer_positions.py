"""How far bots have read, kept for people to look at; and how far a follower of changes has come."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from runtime.clock import wall_now
from store.errors import StoreError
from store.mongo.store import MongoTradeStore
from store.records.consumer_position import ConsumerPosition
from store.server.change_streams import ChangeStreamProgress
from store.server.client import connect, database_of
from store.server.documents import CONSUMER_POSITIONS as REACH_ROWS
from tests.store.reservation_requests import open_books
from tests.ui.waiting import until

REACH = ConsumerPosition("bot-kraken", "kraken", 0, 1_500, {"opportunities/0": 12, "spreads/0": 3}, 1)
SECOND = 1_000_000


async def test_the_newest_row_of_each_bot_is_reported_with_the_servers_time(mongo_store: MongoTradeStore) -> None:
    before = wall_now() // 1_000 * 1_000
    await mongo_store.consumer_positions.record(replace(REACH, offsets={"opportunities/0": 1, "opportunities/1": 7}))
    await mongo_store.consumer_positions.record(REACH)
    await mongo_store.consumer_positions.record(
        replace(REACH, part="bot-bitstamp", exchange="bitstamp", change_lag=None)
    )
    await until(lambda: _are_kept(mongo_store, 2))
    other, kraken = await mongo_store.consumer_positions.all()
    assert (other.exchange, other.change_lag) == ("bitstamp", None)
    assert before <= kraken.reported_at <= wall_now()
    assert replace(kraken, reported_at=0) == REACH


async def test_a_row_of_another_version_is_said_to_be_one(
    mongo_store: MongoTradeStore, mongodb_uri: str, database: str
) -> None:
    client = connect(mongodb_uri)
    rows = database_of(client, database)[REACH_ROWS]
    await rows.insert_one({"_id": "bot-kraken", "reported_at": datetime.fromtimestamp(0, UTC)})
    client.close()
    with pytest.raises(StoreError, match="bot-kraken"):
        await mongo_store.consumer_positions.all()


async def test_following_notes_how_far_it_has_come(mongo_store: MongoTradeStore) -> None:
    await open_books(mongo_store)
    followed = mongo_store.settings.watch()
    settings = await anext(followed)
    standing = mongo_store.settings_progress
    waiting = asyncio.ensure_future(anext(followed))
    async with asyncio.timeout(20):
        await until(lambda: standing.caught_up_at is not None)
        assert standing.newest_at is None
        await mongo_store.settings.change(settings, settings.version, "test")
        assert (await waiting).version == settings.version + 1
    assert standing.newest_at is not None
    assert abs(standing.newest_at - wall_now()) < 20 * SECOND
    lag = standing.lag(wall_now(), 0)
    assert lag is not None
    assert lag < 20 * SECOND
    assert standing.lost == 0


def test_lag_is_the_time_since_everything_was_seen() -> None:
    standing = ChangeStreamProgress()
    assert standing.lag(100, 0) is None
    standing.record({"wallTime": datetime.fromtimestamp(1_000, UTC).replace(tzinfo=None)})
    assert standing.lag(1_003 * SECOND, 0) == 3 * SECOND
    # the server's clock is a second ahead: the change was made a second earlier by ours
    assert standing.lag(1_003 * SECOND, SECOND) == 4 * SECOND
    standing.caught_up_at = 1_002 * SECOND
    assert standing.lag(1_003 * SECOND, SECOND) == SECOND
    # a change of our future is no lag
    assert standing.lag(900 * SECOND, 0) == 0


async def _are_kept(store: MongoTradeStore, rows: int) -> bool:
    """Written without waiting for a majority, and read from one."""
    kept = await store.consumer_positions.all()
    return len(kept) == rows and any(row.offsets == REACH.offsets for row in kept)
