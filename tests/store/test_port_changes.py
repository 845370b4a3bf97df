"""The contract of the store: settings and their versions, and how changes are told, on both adapters."""

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import TypeVar

import pytest

from market.trade.grants import Grant
from market.trade.leases import UNFENCED
from market.trade.order_results import result_of
from store.errors import VersionConflictError
from store.ports.trading import TradeStore
from tests.market.samples import settings_of
from tests.store.booking import finish_leg
from tests.store.reservation_requests import (
    close,
    complete,
    filled,
    leg_of,
    open_books,
    opportunity,
    reserved,
)

DEADLINE_SECONDS = 20
ID = "opportunity-1"

Item = TypeVar("Item")


async def next_of(items: AsyncIterator[Item]) -> Item:
    async with asyncio.timeout(DEADLINE_SECONDS):
        return await anext(items)


async def test_settings_keep_their_versions_apart(store: TradeStore) -> None:
    assert await store.settings.current() is None
    with pytest.raises(VersionConflictError):
        await store.settings.change(settings_of(), 1, "somebody")
    first = await store.settings.create(settings_of(version=7, min_net_bps=4))
    assert (first.version, first.min_net_bps) == (1, 4)
    assert await store.settings.create(settings_of(min_net_bps=9)) == first
    second = await store.settings.change(settings_of(min_net_bps=5), 1, "somebody")
    assert second == await store.settings.current()
    assert (second.version, second.min_net_bps) == (2, 5)
    with pytest.raises(VersionConflictError) as conflict:
        await store.settings.change(settings_of(min_net_bps=6), 1, "somebody else")
    assert conflict.value.current == 2
    assert (await store.settings.current()) == second


async def test_only_one_of_many_changes_wins(store: TradeStore) -> None:
    await store.settings.create(settings_of())
    tries = [store.settings.change(settings_of(min_net_bps=5 + index), 1, f"user {index}") for index in range(5)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(result, VersionConflictError) for result in results) == 4
    current = await store.settings.current()
    assert current in results


async def test_settings_are_reported_in_order(store: TradeStore) -> None:
    await store.settings.create(settings_of())
    reported = store.settings.watch()
    assert (await next_of(reported)).version == 1
    for version in range(1, 6):
        await store.settings.change(settings_of(min_net_bps=version), version, "somebody")
    assert [(await next_of(reported)).version for _ in range(5)] == [2, 3, 4, 5, 6]


async def test_a_bot_hears_of_what_is_granted_at_its_exchange_and_of_nothing_else(store: TradeStore) -> None:
    await open_books(store)
    first = await reserved(store)
    watched = store.watch_grants("beta")
    assert await next_of(watched) == Grant(ID, leg_of(first, "sell"))
    await finish_leg(store, ID, "buy", filled(leg_of(first, "buy")), close, UNFENCED)
    await finish_leg(store, ID, "sell", filled(leg_of(first, "sell"), Decimal(0)), complete("0.5"), UNFENCED)
    # a leg that follows, then one of a trade that begins while it watches
    added = leg_of(await store.arbitrage(ID), "complete")
    assert await next_of(watched) == Grant(ID, added)
    await finish_leg(store, ID, "complete", filled(added), close, UNFENCED)
    second = await reserved(store, opportunity("opportunity-2", sequence=2))
    assert await next_of(watched) == Grant("opportunity-2", leg_of(second, "sell"))


async def test_a_result_is_told_until_it_is_booked(store: TradeStore) -> None:
    await open_books(store)
    arbitrage = await reserved(store)
    results = [result_of(ID, leg, filled(leg)) for leg in arbitrage.legs]
    await store.report_order(results[0], UNFENCED)
    watched = store.watch_order_results()
    assert await next_of(watched) == results[0]
    await store.report_order(results[0], UNFENCED)
    await store.report_order(results[1], UNFENCED)
    assert await next_of(watched) == results[1]
    assert await store.order_results() == await store.order_results(ID) == results
    assert await store.order_results("another") == []
    ended = await store.book(ID, close, UNFENCED)
    assert (ended.state, await store.order_results()) == ("closed", [])
    # one that comes again is booked once
    await store.report_order(results[1], UNFENCED)
    assert await next_of(watched) == results[1]
    assert await store.book(ID, close, UNFENCED) == ended
    assert await store.order_results() == []
