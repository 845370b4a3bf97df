"""Failures reach the store once, pauses and openings reach the bot."""

import asyncio
from decimal import Decimal

import pytest

from bots.health import HealthWatch
from bots.knowledge import Knowledge
from market.breaker import Failure, Health
from market.rows import BalanceRow
from store.errors import StoreUnavailableError
from store.memory import MemoryTradeStore
from tests.market.samples import settings_of


class UnreachableStore(MemoryTradeStore):
    """Failures cannot be noted while it is unreachable."""

    is_unreachable = True

    async def note_failure(self, exchange: str, failure: Failure) -> Health:
        if self.is_unreachable:
            raise StoreUnavailableError("gone")
        return await super().note_failure(exchange, failure)


async def watch_on(store: MemoryTradeStore) -> tuple[HealthWatch, Knowledge]:
    settings = settings_of(breaker_failures=2, breaker_pause_ms=30_000)
    await store.create_settings(settings)
    knowledge = Knowledge(settings)
    return HealthWatch("alpha", store, knowledge), knowledge


async def test_failures_are_told_once_and_the_pause_is_known_at_once() -> None:
    store = MemoryTradeStore()
    watch, knowledge = await watch_on(store)
    for _ in range(3):
        watch.note("order_refused", "order-1")
    await watch.round()
    (health,) = await store.health()
    assert [one.kind for one in health.failures] == ["order_refused"]
    assert knowledge.paused_until == {"alpha": 0}
    watch.note("outcome_unknown", "order-1")
    await watch.round()
    (paused,) = await store.health()
    assert paused.is_paused(await store.server_now())
    assert knowledge.paused_until == {"alpha": paused.paused_until}


async def test_what_others_found_is_known_too() -> None:
    store = MemoryTradeStore()
    watch, knowledge = await watch_on(store)
    for identity in ("1", "2"):
        await store.note_failure("beta", Failure(identity, "outcome_unknown"))
    await store.set_balances("beta", {"BTC": Decimal(3)}, "before")
    knowledge.see_balances([BalanceRow("beta", "BTC", Decimal(1), Decimal(1))])
    await watch.round()
    assert knowledge.paused_until["beta"] > await store.server_now()
    assert knowledge.drift == {"BTC": Decimal(-1)}


async def test_one_order_looked_up_in_vain_counts_once_a_second() -> None:
    store = MemoryTradeStore()
    watch, _ = await watch_on(store)
    for _ in range(50):
        watch.note("look_up_unanswered", "order-1")
    await watch.round()
    (health,) = await store.health()
    assert 1 <= len(health.failures) <= 2


async def test_an_outage_loses_no_failure() -> None:
    store = UnreachableStore()
    watch, _ = await watch_on(store)
    watch.note("order_refused", "order-1")
    with pytest.raises(StoreUnavailableError):
        await watch.run()
    watch.note("order_refused", "order-2")
    store.is_unreachable = False
    await watch.round()
    (health,) = await store.health()
    assert [one.failure_id for one in health.failures] == ["order-1:order_refused", "order-2:order_refused"]


async def test_a_bot_that_ends_says_why_first() -> None:
    store = MemoryTradeStore()
    watch, _ = await watch_on(store)
    running = asyncio.create_task(watch.run())
    await asyncio.sleep(0)
    watch.note("account_refused", "order-1")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    (health,) = await store.health()
    assert [one.kind for one in health.failures] == ["account_refused"]
