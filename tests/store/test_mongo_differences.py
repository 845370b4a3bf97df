"""The contract of what reconciliation reads and keeps, on both adapters."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from market.accounting.differences import Difference, RowCorrection, StoredDifference
from market.trade.arbitrages import Arbitrage
from market.trade.leases import UNFENCED
from market.trade.reservation_state import BalanceRow
from session.clock import SystemClock
from store.errors import FencedOutError
from store.store_port import TradeStore
from tests.store.booking import finish_leg, record_sent
from tests.store.reservation_requests import close, filled, granted, open_books, opportunity, reserved

FOUND = Difference("balance_differs", "alpha", "USD", "900", "901")
KEPT = StoredDifference(FOUND.difference_id, FOUND.kind, "alpha", "USD", "900", "901", "healed", 1_000_000)
USD = BalanceRow("alpha", "USD", Decimal(1_000), Decimal(0))
MORE = BalanceRow("alpha", "USD", Decimal("1000.00000001"), Decimal(0))


async def row_of(store: TradeStore, exchange: str = "alpha", currency: str = "USD") -> BalanceRow | None:
    rows = await store.balances.rows()
    return next((row for row in rows if (row.exchange, row.currency) == (exchange, currency)), None)


async def test_a_difference_is_kept_once_as_it_was_first_found(store: TradeStore) -> None:
    assert await store.differences.store(KEPT)
    assert not await store.differences.store(replace(KEPT, found_at=2_000_000))
    assert await store.differences.stored() == [KEPT]


async def test_two_processes_keep_one(store: TradeStore) -> None:
    assert sorted(await asyncio.gather(*(store.differences.store(KEPT) for _ in range(3)))) == [False, False, True]


async def test_the_newest_is_reported_first(store: TradeStore) -> None:
    later = replace(KEPT, difference_id="2", found_at=3_000_000)
    between = replace(KEPT, difference_id="3", found_at=2_000_000)
    for one in (KEPT, later, between):
        await store.differences.store(one)
    assert await store.differences.stored() == [later, between, KEPT]


async def test_until_when_an_exchange_was_compared_never_goes_back(store: TradeStore) -> None:
    assert await store.differences.compared_until("alpha") is None
    await store.differences.record_compared("alpha", 2_000)
    await store.differences.record_compared("alpha", 1_000)
    assert await store.differences.compared_until("alpha") == 2_000
    assert await store.differences.compared_until("beta") is None


async def since(store: TradeStore, exchange: str, moment: int) -> list[Arbitrage]:
    """What may be left out of them is."""
    return [legs_alone(one) for one in await store.differences.arbitrages_since(exchange, moment)]


def legs_alone(arbitrage: Arbitrage) -> Arbitrage:
    seen = arbitrage.opportunity
    buy, sell = replace(seen.buy, levels=()), replace(seen.sell, levels=())
    return replace(arbitrage, history=(), opportunity=replace(seen, buy=buy, sell=sell))


async def test_arbitrages_of_an_exchange_open_or_since_a_time(store: TradeStore) -> None:
    await open_books(store)
    assert await store.differences.arbitrages_since("alpha", 0) == []
    both = await reserved(store)
    reserved_at = both.legs[0].times["reserved"]
    far = reserved_at + 10**12
    assert await since(store, "beta", far) == [legs_alone(both)]
    assert await since(store, "alpha", far) == [legs_alone(both)]
    for role in ("buy", "sell"):
        await finish_leg(
            store, both.arbitrage_id, role, None, lambda one, _settings, _now: replace(one, state="unfilled"), UNFENCED
        )
    assert await store.differences.arbitrages_since("alpha", far) == []
    [ended] = await store.differences.arbitrages_since("alpha", reserved_at - 1_000)
    assert (ended.arbitrage_id, ended.state) == (opportunity().opportunity_id, "unfilled")
    assert await store.differences.arbitrages_since("gamma", 0) == []


async def test_one_that_is_gone_on_with_long_after_it_began_is_among_them(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy = await granted(store, "opportunity-1", "buy")
    await finish_leg(store, "opportunity-1", "buy", None, close, UNFENCED)
    await granted(store, "opportunity-1", "sell")
    await finish_leg(store, "opportunity-1", "sell", None, close, UNFENCED)
    first = await store.arbitrage("opportunity-1")
    assert first is not None
    then = first.times["ended"] + 1
    while await store.server_now() < then:
        await SystemClock().sleep(0.001)
    assert await store.differences.arbitrages_since("alpha", then) == []
    late = await finish_leg(store, "opportunity-1", "buy", filled(buy), close, UNFENCED)
    assert late.state == "closed"
    assert await since(store, "alpha", then) == [legs_alone(late)]


async def test_orders_of_an_exchange_by_our_own_ids(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, sell = await granted(store, "opportunity-1", "buy"), await granted(store, "opportunity-1", "sell")
    assert await store.differences.orders_since("alpha", 0) == {}
    await record_sent(store, "opportunity-1", "buy", "order-7", UNFENCED)
    await finish_leg(store, "opportunity-1", "sell", filled(sell), close, UNFENCED)
    assert await store.differences.orders_since("alpha", 0) == {buy.client_order_id: "order-7"}
    ended = await finish_leg(store, "opportunity-1", "buy", filled(buy), close, UNFENCED)
    assert await store.differences.orders_since("alpha", ended.times["ended"]) == {buy.client_order_id: "order-7"}
    assert list(await store.differences.orders_since("beta", 0)) == [sell.client_order_id]
    assert await store.differences.orders_since("alpha", ended.times["ended"] + 1) == {}


async def test_currencies_that_orders_of_nobodys_moved_since_the_books_were_opened(store: TradeStore) -> None:
    before = await store.server_now() - 1_000_000
    await open_books(store)
    after = await store.server_now() + 1
    found = replace(KEPT, kind="fill_foreign", currencies=("BTC", "USD"), found_at=before)
    await store.differences.store(found)
    assert await store.differences.foreign_currencies("alpha") == frozenset()
    await store.differences.store(replace(found, difference_id="2", found_at=after))
    await store.differences.store(replace(KEPT, difference_id="3", found_at=after))
    assert await store.differences.foreign_currencies("alpha") == {"BTC", "USD"}
    assert await store.differences.foreign_currencies("beta") == frozenset()
    assert replace(found, difference_id="2", found_at=after) in await store.differences.stored()


async def test_a_row_is_corrected_from_what_was_compared(store: TradeStore) -> None:
    await open_books(store)
    assert await store.differences.correct(RowCorrection(USD, MORE), UNFENCED)
    assert await row_of(store) == MORE
    # again: it is not what was compared any more
    assert not await store.differences.correct(RowCorrection(USD, replace(USD, free=Decimal(5))), UNFENCED)
    assert await row_of(store) == MORE


async def test_a_row_that_moved_since_is_left_alone(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store)
    held = await row_of(store)
    assert held is not None
    assert held.held > 0
    assert not await store.differences.correct(RowCorrection(USD, MORE), UNFENCED)
    assert await row_of(store) == held


async def test_a_currency_without_a_row_counts_as_nothing(store: TradeStore) -> None:
    nothing = BalanceRow("alpha", "DOGE", Decimal(0), Decimal(0))
    found = replace(nothing, free=Decimal("0.5"))
    assert await store.differences.correct(RowCorrection(nothing, found), UNFENCED)
    assert await row_of(store, currency="DOGE") == found


async def test_who_was_replaced_corrects_nothing(store: TradeStore) -> None:
    await open_books(store)
    lease = await store.leases.acquire("alpha", "first")
    assert lease is not None
    await store.leases.release(lease)
    assert await store.leases.acquire("alpha", "second") is not None
    with pytest.raises(FencedOutError):
        await store.differences.correct(RowCorrection(USD, MORE), lease.actor)
    assert await row_of(store) == USD
