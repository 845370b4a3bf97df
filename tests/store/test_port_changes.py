"""The contract of the store: settings and their versions, and how changes are told, on both adapters."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

import pytest

from market.trade.arbitrages import Arbitrage
from market.trade.leases import UNFENCED
from session.clock import SystemClock
from store.errors import VersionConflictError
from store.store_port import TradeStore
from tests.market.samples import settings_of
from tests.store.reservation_requests import (
    close,
    filled,
    granted,
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


async def test_arbitrages_are_reported_as_they_change(store: TradeStore) -> None:
    await open_books(store)
    first = await reserved(store)
    reported = store.watch_arbitrages()
    assert await next_of(reported) == first
    legs = [await granted(store, ID, "buy"), await granted(store, ID, "sell")]
    await store.record_sent(ID, "buy", "order-1", UNFENCED)
    acknowledged = await next_of(reported)
    assert [leg.exchange_order_id for leg in acknowledged.legs] == ["order-1", None]
    for leg in legs:
        after = await store.finish_leg(ID, leg.role, filled(leg), close, UNFENCED)
        assert await next_of(reported) == after
    assert after.state == "closed"
    # and one that begins while they watch
    second = await reserved(store, opportunity("opportunity-2", sequence=2))
    assert await next_of(reported) == second


async def watched_until_closed(store: TradeStore, seen: list[Arbitrage]) -> None:
    async for arbitrage in store.watch_arbitrages():
        seen.append(arbitrage)
        if arbitrage.state == "closed":
            return


async def test_a_watcher_that_begins_amid_changes_sees_no_state_go_back(store: TradeStore) -> None:
    await open_books(store)
    reported: list[list[Arbitrage]] = [[] for _ in range(8)]
    async with asyncio.timeout(DEADLINE_SECONDS), asyncio.TaskGroup() as group:
        await reserved(store)
        for seen in reported:
            group.create_task(watched_until_closed(store, seen))
        legs = [await granted(store, ID, "buy"), await granted(store, ID, "sell")]
        await store.record_sent(ID, "buy", "order-1", UNFENCED)
        while not all(reported):
            await SystemClock().sleep(0.005)
        await store.record_sent(ID, "sell", "order-2", UNFENCED)
        for leg in legs:
            await store.finish_leg(ID, leg.role, filled(leg), close, UNFENCED)
    for seen in reported:
        progress = [len(arbitrage.history) for arbitrage in seen]
        assert progress == sorted(set(progress))
