"""What only the store in memory shows."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.trade.arbitrages import Rejection
from market.trade.leases import UNFENCED
from market.trade.reservation_state import liquidity_key
from store.memory.store import LIQUIDITY_ROWS, MemoryTradeStore
from tests.store.booking import finish_leg
from tests.store.conftest import SteppedClock
from tests.store.reservation_requests import (
    balances,
    close,
    complete,
    filled,
    granted,
    open_books,
    opportunity,
    ready_bot,
    reserved,
)

ID = "opportunity-1"


async def test_its_clock_is_the_servers(store_clock: SteppedClock) -> None:
    store = MemoryTradeStore(store_clock)
    await open_books(store)
    first = await reserved(store)
    assert first.send_by == store_clock.now() + 1_000_000 == await store.server_now() + 1_000_000
    await store_clock.sleep(1.5)
    later = await finish_leg(store, ID, "buy", filled(first.legs[0]), close, UNFENCED)
    assert later.legs[0].times["done"] == first.times["reserved"] + 1_500_000
    assert await store.session_arbitrages() == [later]


@pytest.mark.parametrize(("seconds", "state"), [(15.0, "granted"), (15.000_001, "not_sent")])
async def test_a_leg_waits_a_quarter_of_a_minute_for_its_bot(
    store_clock: SteppedClock, seconds: float, state: str
) -> None:
    store = MemoryTradeStore(store_clock)
    await open_books(store)
    await reserved(store, amount="2")
    alpha, advance = await ready_bot(store, "alpha"), complete("0.5")
    await finish_leg(store, ID, "buy", filled(await granted(store, ID, "buy")), advance, alpha)
    await finish_leg(store, ID, "sell", filled(await granted(store, ID, "sell"), Decimal(1)), advance, alpha)
    await store_clock.sleep(seconds)
    await ready_bot(store, "beta")
    leg = await store.grant(ID, "complete", alpha)
    after = await store.arbitrage(ID)
    assert after is not None
    added = after.leg("complete")
    assert added is not None
    assert (added.state, leg) == (state, added if state == "granted" else None)
    assert (await balances(store))["beta", "BTC"][1] == Decimal("0.5")
    ended = await finish_leg(store, ID, "complete", None, advance, alpha)
    assert ended.state == "closed"
    assert (await balances(store))["beta", "BTC"][1] == 0


async def test_it_counts_rejections_once(store_clock: SteppedClock) -> None:
    store = MemoryTradeStore(store_clock)
    first = Rejection("1", "o", "BTC", "alpha", "beta", "alpha", "too_small", 4.5, Decimal(1), 1_700_000_000_000_000)
    for rejection in (first, replace(first, rejection_id="2"), first, replace(first, rejection_id="3", reason="stale")):
        await store.reject([rejection])
    assert await store.rejection_counts() == {"too_small": 2, "stale": 1}


async def test_it_forgets_the_liquidity_of_old_quotes(store_clock: SteppedClock) -> None:
    store = MemoryTradeStore(store_clock)
    await open_books(store)
    oldest, newest = opportunity("opportunity-0", 0), opportunity("opportunity-1", 1)
    for of in (oldest, newest):
        for leg in (await reserved(store, of, "0.001")).legs:
            await finish_leg(store, of.opportunity_id, leg.role, None, close, UNFENCED)
        assert liquidity_key(of, "buy") in store.liquidity
        if of is oldest:
            # what others have taken since
            others = (f"other-{number}" for number in range(LIQUIDITY_ROWS - len(store.liquidity)))
            store.liquidity.update(dict.fromkeys(others, Decimal("0.001")))
    assert len(store.liquidity) == LIQUIDITY_ROWS
    assert liquidity_key(oldest, "buy") not in store.liquidity
