"""What only the store in memory shows."""

from dataclasses import replace
from decimal import Decimal

from market.trade.arbitrages import Rejection
from market.trade.leases import UNFENCED
from market.trade.reservation_state import liquidity_key
from store.memory.memory_store import LIQUIDITY_ROWS, MemoryTradeStore
from tests.store.conftest import SteppedClock
from tests.store.reservation_requests import open_books, opportunity, request


async def test_its_clock_is_the_servers(store_clock: SteppedClock) -> None:
    store = MemoryTradeStore(store_clock)
    await open_books(store)
    half = (await store.reserve(request("buy"), UNFENCED)).arbitrage
    assert half is not None
    assert half.reserve_by == store_clock.now() + 1_000_000 == await store.server_now() + 1_000_000
    await store_clock.sleep(1)
    assert not await store.expire("opportunity-1", UNFENCED)
    await store_clock.sleep(0.000_001)
    assert await store.expire("opportunity-1", UNFENCED)
    assert [arbitrage.state for arbitrage in await store.session_arbitrages()] == ["expired"]


async def test_it_counts_rejections_once(store_clock: SteppedClock) -> None:
    store = MemoryTradeStore(store_clock)
    first = Rejection("1", "o", "BTC", "alpha", "beta", "alpha", "too_small", 4.5, Decimal(1), 1_700_000_000_000_000)
    for rejection in (first, replace(first, rejection_id="2"), first, replace(first, rejection_id="3", reason="stale")):
        await store.reject(rejection)
    assert await store.rejection_counts() == {"too_small": 2, "stale": 1}


async def test_it_forgets_the_liquidity_of_old_quotes(store_clock: SteppedClock) -> None:
    store = MemoryTradeStore(store_clock)
    await open_books(store)
    for sequence in range(LIQUIDITY_ROWS + 1):
        of = opportunity(f"opportunity-{sequence}", sequence)
        assert (await store.reserve(request("buy", of=of), UNFENCED)).arbitrage is not None
        await store_clock.sleep(1.1)
        assert await store.expire(of.opportunity_id, UNFENCED)
    assert len(store.liquidity) == LIQUIDITY_ROWS
    assert liquidity_key(of, "buy") in store.liquidity
    assert liquidity_key(opportunity(sequence=0), "buy") not in store.liquidity
