"""Two clients of one real server at the same time."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal

import pytest

from market.trade.leases import UNFENCED
from store.mongo.mongo_store import MongoTradeStore
from store.server.mongo_client import connect
from tests.market.samples import settings_of
from tests.store.reservation_requests import balances, close, filled, open_books, opportunity, request, sent

ROUNDS = 50
MANY = settings_of(max_open_arbitrages=1_000)


@pytest.fixture
async def other_store(mongodb_uri: str, database: str) -> AsyncIterator[MongoTradeStore]:
    """A second bot's own client."""
    async with MongoTradeStore(connect(mongodb_uri), database, "session-1") as store:
        yield store


async def test_two_bots_reserve_each_opportunity_once(
    mongo_store: MongoTradeStore, other_store: MongoTradeStore
) -> None:
    await open_books(mongo_store, MANY)
    for index in range(ROUNDS):
        of = opportunity(f"opportunity-{index}", sequence=index)
        results = await asyncio.gather(
            mongo_store.reserve(request("buy", "0.02", of, MANY), UNFENCED),
            other_store.reserve(request("sell", "0.01", of, MANY), UNFENCED),
        )
        states = sorted(result.arbitrage.state for result in results if result.arbitrage is not None)
        assert states == ["awaiting_second_leg", "reserved"]
        arbitrage = await mongo_store.arbitrage(of.opportunity_id)
        assert arbitrage is not None
        assert arbitrage.amount == Decimal("0.01")
        assert [leg.amount for leg in arbitrage.legs] == [Decimal("0.01")] * 2
        legs = await asyncio.gather(
            sent(mongo_store, of.opportunity_id, "buy"), sent(other_store, of.opportunity_id, "sell")
        )
        ended = await asyncio.gather(
            mongo_store.finish_leg(of.opportunity_id, "buy", filled(legs[0]), close, UNFENCED),
            other_store.finish_leg(of.opportunity_id, "sell", filled(legs[1]), close, UNFENCED),
        )
        assert sorted(arbitrage.state for arbitrage in ended) == ["closed", "reserved"]
    assert {held for _, held in (await balances(mongo_store)).values()} == {Decimal(0)}
    assert (await balances(mongo_store))["alpha", "BTC"][0] == ROUNDS * Decimal("0.01")
    assert len(await mongo_store.fills()) == 2 * ROUNDS


async def test_a_leg_is_allowed_to_be_sent_once(mongo_store: MongoTradeStore, other_store: MongoTradeStore) -> None:
    await open_books(mongo_store)
    await mongo_store.reserve(request("buy"), UNFENCED)
    await mongo_store.reserve(request("sell"), UNFENCED)
    tries = [
        store.start_sending("opportunity-1", "buy", UNFENCED) for store in (mongo_store, other_store) for _ in range(10)
    ]
    allowed = [leg for leg in await asyncio.gather(*tries) if leg is not None]
    assert len(allowed) == 1


async def test_opportunities_of_one_exchange_do_not_spend_the_same_balance(
    mongo_store: MongoTradeStore, other_store: MongoTradeStore
) -> None:
    """1,000 USD hold 9 units at 100.1; ten wishes of one each meet in the same row, each of a pair of its own."""
    sellers = {f"seller-{index}": Decimal("0.001") for index in range(10)}
    fees = {"alpha": Decimal("0.001")} | sellers
    await open_books(mongo_store, MANY.model_copy(update={"enabled_exchanges": tuple(fees), "taker_fees": fees}))
    wanted = []
    for index in range(10):
        of = opportunity(f"opportunity-{index}", sequence=index)
        of = replace(of, sell=replace(of.sell, exchange=f"seller-{index}"))
        wanted.append(request("buy", "1", of, MANY, minimum="1"))
    stores = (mongo_store, other_store)
    results = await asyncio.gather(*(stores[index % 2].reserve(one, UNFENCED) for index, one in enumerate(wanted)))
    assert sorted(result.rejection or "" for result in results) == [""] * 9 + ["insufficient_balance"]
    assert (await balances(mongo_store))["alpha", "USD"] == (Decimal("99.1"), Decimal("900.9"))
