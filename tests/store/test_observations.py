"""Batches of what bots saw, in both stores: in any order, partly written before, or twice, each counts once."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest
from pymongo.errors import BulkWriteError

from market.trade.arbitrages import Rejection
from store.errors import StoreUnavailableError
from store.memory.store import MemoryTradeStore
from store.mongo.observations import taken_keys
from store.mongo.store import MongoTradeStore
from store.queries.trade_reader import TradeReader
from tests.store.reservation_requests import opportunity

SECOND = 1_000_000
START = 1_700_000_000_000_000


def rejection(number: int, reason: str = "stale", after: int = 0, count: int = 1) -> Rejection:
    return Rejection(
        f"r-{number}", f"o-{number}", "BTC", "alpha", "beta", "alpha", reason, 4.5, Decimal(1), START + after, count,
        tradable=Decimal(number), until=START + after + SECOND,
    )  # fmt: skip


BATCH = [
    rejection(1),
    rejection(2, "too_small"),
    # of the second of the first, counted on it
    rejection(3, after=SECOND // 2, count=4),
    rejection(4, after=2 * SECOND),
]
COUNTS = {"stale": 6, "too_small": 1}


@pytest.mark.parametrize("before", [(), (0,), (1, 3), (0, 1, 2, 3)])
async def test_a_batch_that_was_written_in_part_is_written_again(
    store: MongoTradeStore | MemoryTradeStore, before: tuple[int, ...]
) -> None:
    await store.reject([BATCH[index] for index in before])
    for _ in range(2):
        await store.reject(BATCH)
    assert await store.rejection_counts() == COUNTS


async def test_in_any_order_the_same_is_counted(store: MongoTradeStore | MemoryTradeStore) -> None:
    await store.reject(list(reversed(BATCH)))
    await store.reject([])
    assert await store.rejection_counts() == COUNTS


async def test_the_first_with_an_id_wins(mongo_store: MongoTradeStore, reader: TradeReader) -> None:
    first = opportunity("1")
    await mongo_store.save_opportunities([first, replace(first, net_bps=99.0), opportunity("2")])
    await mongo_store.save_opportunities([replace(first, net_bps=99.0), opportunity("3")])
    await mongo_store.save_opportunities([])
    assert await reader.opportunity_count() == 3
    assert await reader.opportunity("1") == first


async def test_the_first_with_an_id_wins_in_memory() -> None:
    store, first = MemoryTradeStore(), opportunity("1")
    await store.save_opportunities([first, replace(first, net_bps=99.0), opportunity("2")])
    assert list(store.opportunities.values()) == [first, opportunity("2")]


async def test_processes_that_write_together_lose_nothing(mongo_store: MongoTradeStore, reader: TradeReader) -> None:
    """A process that takes over may write while the one before still does: one's insert comes before the other's."""
    batches = [[rejection(number, after=number), rejection(number, "too_small")] for number in range(20)]
    await asyncio.gather(*(mongo_store.reject(batch) for batch in (*batches, *batches)))
    assert await mongo_store.rejection_counts() == {"stale": 20, "too_small": 20}
    page = await reader.rejections("stale", None, 9)
    assert [(one.count, one.tradable) for one in page.items] == [(20, Decimal(19))]


def test_only_a_key_that_is_taken_is_no_failure() -> None:
    taken = {"index": 3, "code": 11_000}
    assert taken_keys(BulkWriteError({"writeErrors": [taken]})) == [3]
    for details in (
        {"writeErrors": [taken, {"index": 4, "code": 50}]},
        {"writeErrors": [taken], "writeConcernErrors": [{"code": 64}]},
    ):
        with pytest.raises(StoreUnavailableError, match="did not write all of a batch"):
            taken_keys(BulkWriteError(details))
