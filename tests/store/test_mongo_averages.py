"""The contract of what the moving average strategy keeps, on both adapters."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

import pytest

from market.money import Price
from market.trade.leases import UNFENCED, Actor
from market.trade.moving_average import AverageOrder, AverageTrade, Close
from store.errors import FencedOutError
from store.memory.store import MemoryTradeStore
from store.mongo.store import MongoTradeStore
from store.ports.trading import TradeStore
from store.server.client import connect
from tests.market.average_rules import app_rule

INTERVAL = 5_000_000
CLOSE = Close("alpha", "us", "BTC/USD", Price(Decimal(0)), 0, 0, "us")
PRICES = ("5", "4", "6", "4.5", "4.5", "7", "3", "9.25", "9.1", "2", "2.0001", "8", "8", "1", "12", "3")
CROSSINGS = ["BUY", "SELL", "BUY", "SELL", "BUY", "SELL", "BUY", "SELL", "BUY", "SELL"]


def closes(prices: Iterable[str] = PRICES, exchange: str = "alpha") -> list[Close]:
    """One a period, from the first period on."""
    return [
        replace(CLOSE, exchange=exchange, price=Price(Decimal(price)), period=n * INTERVAL, timestamp=n * INTERVAL + n)
        for n, price in enumerate(prices, start=1)
    ]


async def noted(store: TradeStore, close: Close, *, with_order: bool, by: Actor = UNFENCED) -> list[AverageTrade]:
    return await store.averages.record_closes([close], app_rule(), with_order=with_order, by=by)


async def note_all(store: TradeStore, of: Iterable[Close], *, with_order: bool = False) -> list[AverageTrade]:
    return [trade for close in of for trade in await noted(store, close, with_order=with_order)]


async def one_trade(store: TradeStore) -> AverageTrade:
    """With an order wanted."""
    (trade,) = await note_all(store, closes(PRICES[:3]), with_order=True)
    return trade


async def test_signals_are_written_as_they_are_given(store: TradeStore) -> None:
    reported = await note_all(store, closes())
    assert reported
    assert await store.averages.trades() == reported
    assert [trade.trade_type for trade in reported] == CROSSINGS[: len(reported)]
    assert reported[0].trade_id == f"alpha|BTC/USD|{3 * INTERVAL}"
    assert (reported[0].trade_price, reported[0].average) == (Decimal(6), Decimal(5))
    assert (reported[0].trade_strategy, reported[0].trade_location, reported[0].quote_region) == (
        "MA Trading",
        "us",
        "us",
    )
    assert all(trade.order is None for trade in reported)
    assert await store.averages.unsettled("alpha") == []


async def test_a_period_counts_once_whoever_notes_it(store: TradeStore) -> None:
    """A bot that was killed before it heard the answer, or a second one of the same exchange, notes it again."""
    expected = await note_all(MemoryTradeStore(), closes())
    twice = [again for close in closes() for again in (close, replace(close, price=Price(close.price * 9)), close)]
    reported = await note_all(store, twice)
    assert [trade.trade_id for trade in reported] == [trade.trade_id for trade in expected]
    assert await store.averages.trades() == reported
    assert await note_all(store, closes()) == []


async def test_two_processes_at_the_same_moment_lose_and_double_nothing(store: TradeStore) -> None:
    reported: list[AverageTrade] = []
    for close in closes():
        answers = await asyncio.gather(*(noted(store, close, with_order=True) for _ in range(3)))
        reported += [trade for answer in answers for trade in answer]
    expected = await note_all(MemoryTradeStore(), closes())
    assert [(trade.trade_id, trade.average) for trade in reported] == [
        (trade.trade_id, trade.average) for trade in expected
    ]
    assert [(trade.trade_id, trade.average) for trade in await store.averages.trades()] == [
        (trade.trade_id, trade.average) for trade in reported
    ]


async def test_a_killed_note_is_as_if_never_made_or_made(store: TradeStore) -> None:
    """Cancelled at any await; the successor notes the same period again, and one signal stands per crossing."""
    for close in closes():
        for turns in range(12):
            noting = asyncio.create_task(noted(store, close, with_order=False))
            for _ in range(turns):
                await asyncio.sleep(0)
            noting.cancel()
            await asyncio.gather(noting, return_exceptions=True)
        await noted(store, close, with_order=False)
    expected = await note_all(MemoryTradeStore(), closes())
    assert [(trade.trade_id, trade.average) for trade in await store.averages.trades()] == [
        (trade.trade_id, trade.average) for trade in expected
    ]


async def test_closes_of_several_markets_count_as_if_noted_one_by_one(store: TradeStore) -> None:
    rounds = zip(closes(), closes(exchange="beta"), strict=True)
    reported = [
        trade
        for one in rounds
        for trade in await store.averages.record_closes(one, app_rule(), with_order=False, by=UNFENCED)
    ]
    alone = MemoryTradeStore()
    rounds = zip(closes(), closes(exchange="beta"), strict=True)
    expected = [trade for one in rounds for trade in await note_all(alone, one)]
    assert [(trade.trade_id, trade.average) for trade in reported] == [
        (trade.trade_id, trade.average) for trade in expected
    ]
    assert len(await store.averages.trades()) == len(expected)


async def test_markets_do_not_mix(store: TradeStore) -> None:
    mixed = [one for pair in zip(closes(), closes(exchange="beta"), strict=True) for one in pair]
    reported = await note_all(store, mixed)
    assert len(reported) == 2 * len(await note_all(MemoryTradeStore(), closes()))
    assert {trade.exchange for trade in reported} == {"alpha", "beta"}


async def test_a_missing_period_is_no_close(store: TradeStore) -> None:
    late = [replace(close, period=close.period * 7) for close in closes()]
    reported = await note_all(store, late)
    assert len(reported) == len(await note_all(MemoryTradeStore(), closes()))


async def test_an_order_is_unsettled_until_it_is_known_what_became_of_it(store: TradeStore) -> None:
    trade = await one_trade(store)
    assert trade.order == AverageOrder("wanted")
    assert await store.averages.unsettled("alpha") == [trade]
    assert await store.averages.unsettled("beta") == []
    await store.averages.record_order(trade.trade_id, AverageOrder("open"), UNFENCED)
    assert [one.order for one in await store.averages.unsettled("alpha")] == [AverageOrder("open")]
    filled = AverageOrder("partly_filled", "depth", Decimal("0.0010"), Decimal("6.0000"))
    await store.averages.record_order(trade.trade_id, filled, UNFENCED)
    await store.averages.record_order(trade.trade_id, AverageOrder("rejected", "stale"), UNFENCED)
    assert await store.averages.unsettled("alpha") == []
    assert await store.averages.trades() == [replace(trade, order=filled)]


async def test_no_order_of_a_signal_alone_or_of_none(store: TradeStore) -> None:
    (trade,) = await note_all(store, closes(PRICES[:3]))
    await store.averages.record_order(trade.trade_id, AverageOrder("filled"), UNFENCED)
    await store.averages.record_order("nobody", AverageOrder("filled"), UNFENCED)
    assert await store.averages.trades() == [trade]


@pytest.mark.parametrize("price", ["0.00000001", "123456789012.12345678", "1E+3"])
async def test_prices_keep_their_value(store: TradeStore, price: str) -> None:
    (trade,) = await note_all(store, closes((price, "0", price)))
    assert trade.trade_price == Decimal(price)
    assert await store.averages.trades() == [trade]


async def test_who_was_fenced_out_notes_nothing(store: TradeStore) -> None:
    old = await store.leases.acquire("alpha", "old")
    assert old is not None
    await store.leases.release(old)
    new = await store.leases.acquire("alpha", "new")
    assert new is not None
    trade = await one_trade(store)
    late = replace(CLOSE, price=Price(Decimal(1)), period=9 * INTERVAL)
    with pytest.raises(FencedOutError):
        await noted(store, late, with_order=True, by=old.actor)
    with pytest.raises(FencedOutError):
        await store.averages.record_order(trade.trade_id, AverageOrder("open"), by=old.actor)
    assert await store.averages.trades() == [trade]
    await store.averages.record_order(trade.trade_id, AverageOrder("open"), by=new.actor)
    assert len(await noted(store, late, with_order=True, by=new.actor)) == 1


async def test_a_new_session_begins_again(mongo_store: MongoTradeStore, mongodb_uri: str, database: str) -> None:
    await note_all(mongo_store, closes(PRICES[:2]))
    later = [replace(close, period=close.period + INTERVAL) for close in closes(("6", "5"))]
    async with MongoTradeStore(connect(mongodb_uri), database, "session-2") as second:
        assert await note_all(second, later) == []
        assert await second.averages.trades() == []
