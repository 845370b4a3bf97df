"""The contract of the store: what exchanges fail at, on both adapters."""

import asyncio

from market.decide.circuit_breaker import Failure
from store.ports.trading import TradeStore
from tests.market.samples import settings_of


async def test_failures_are_counted_once_and_pause_by_the_settings_in_force(store: TradeStore) -> None:
    await store.settings.create(settings_of(breaker_failures=3, breaker_pause_ms=30_000))
    assert await store.health.all() == []
    for identity in ("1", "2", "2"):
        health = await store.health.record("beta", Failure(identity, "outcome_unknown"))
    assert ([one.failure_id for one in health.failures], health.paused_until) == (["1", "2"], 0)
    await store.health.record("alpha", Failure("3", "order_rejected"))
    begun = await store.server_now()
    paused = await store.health.record("beta", Failure("3", "look_up_unanswered"))
    assert begun + 30_000_000 <= paused.paused_until <= await store.server_now() + 30_000_000
    assert [one.exchange for one in await store.health.all()] == ["alpha", "beta"]
    assert (await store.health.all())[1] == paused


async def test_failures_of_many_at_once_are_all_counted(store: TradeStore) -> None:
    await store.settings.create(settings_of(breaker_failures=100))
    await asyncio.gather(*(store.health.record("alpha", Failure(str(index), "order_rejected")) for index in range(8)))
    (health,) = await store.health.all()
    assert sorted(one.failure_id for one in health.failures) == [str(index) for index in range(8)]


async def test_a_switched_off_breaker_pauses_nothing(store: TradeStore) -> None:
    await store.settings.create(settings_of(breaker_failures=0))
    for identity in "123456":
        await store.health.record("alpha", Failure(identity, "order_rejected"))
    (health,) = await store.health.all()
    assert (len(health.failures), health.paused_until) == (6, 0)
