"""Leases with fencing tokens, on both adapters."""

from collections.abc import Awaitable, Callable

import pytest

from market.trade.leases import LEASE_SECONDS, Actor, Lease
from session.clock import SystemClock, wall_now
from store.errors import FencedOutError
from store.store_port import TradeStore
from tests.store.reservation_requests import OPENING, close, open_books, opportunity, request, reserve_both, sent

ID = "opportunity-1"


async def held_by(store: TradeStore, holder: str) -> Lease:
    """The lease of alpha, once `holder` gets it; another's runs out in a few seconds."""
    deadline = wall_now() + 30_000_000
    while (lease := await store.leases.acquire("alpha", holder)) is None:
        assert wall_now() < deadline
        await SystemClock().sleep(0.1)
    return lease


async def test_one_holder_at_a_time_and_each_has_a_higher_token(store: TradeStore) -> None:
    first = await held_by(store, "one")
    assert (first.exchange, first.holder, first.token) == ("alpha", "one", 1)
    assert await store.leases.acquire("alpha", "two") is None
    other = await store.leases.acquire("beta", "two")
    assert other is not None
    assert other.token == 1
    assert first.until - await store.server_now() <= LEASE_SECONDS * 1_000_000
    second = await held_by(store, "two")
    assert second.token == 2
    assert await store.leases.renew(first) is None


async def test_a_renewed_lease_ends_later_with_the_same_token(store: TradeStore) -> None:
    lease = await held_by(store, "one")
    renewed = await store.leases.renew(lease)
    assert renewed is not None
    assert renewed.token == lease.token
    assert renewed.until >= lease.until


async def test_a_released_lease_is_free_at_once_and_its_token_is_spent(store: TradeStore) -> None:
    lease = await held_by(store, "one")
    await store.leases.release(lease)
    following = await store.leases.acquire("alpha", "two")
    assert following is not None
    assert following.token == 2
    await store.leases.release(lease)
    assert await store.leases.acquire("alpha", "three") is None


async def test_what_the_last_holder_had_used_is_reported_to_the_next_with_how_long_ago_that_was(
    store: TradeStore,
) -> None:
    first = await held_by(store, "one")
    assert first.used == ""
    assert await store.leases.renew(first, "some") is not None
    # who has nothing to tell leaves what was told, and when
    kept = await store.leases.renew(first)
    assert kept is not None
    assert (kept.used, kept.used_at) == ("some", kept.until - int(LEASE_SECONDS * 1_000_000) - kept.used_ago)
    second = await held_by(store, "two")
    assert second.used == "some"
    # the whole lease had to run out
    assert LEASE_SECONDS * 1_000_000 <= second.used_ago < 30_000_000
    await store.leases.release(second, "more")
    third = await held_by(store, "three")
    assert third.used == "more"
    assert third.used_ago < second.used_ago
    # one that was replaced has nothing to say any more
    assert await store.leases.renew(second, "too late") is None
    await store.leases.release(second, "too late")
    await store.leases.release(third)
    assert (await held_by(store, "four")).used == "more"


async def test_a_restarted_holder_of_the_same_name_fences_its_old_self_out(store: TradeStore) -> None:
    await open_books(store)
    old = (await held_by(store, "one")).actor
    new = (await held_by(store, "one")).actor
    assert new.token == old.token + 1
    with pytest.raises(FencedOutError):
        await store.reserve(request("buy"), old)
    assert (await store.reserve(request("buy"), new)).arbitrage is not None


Step = Callable[[TradeStore, Actor], Awaitable[object]]

STEPS: dict[str, Step] = {
    "reserve": lambda store, by: store.reserve(request("buy", of=opportunity("another", 2)), by),
    "expire": lambda store, by: store.expire(ID, by),
    "start sending": lambda store, by: store.start_sending(ID, "buy", by),
    "note sent": lambda store, by: store.record_sent(ID, "sell", "order-1", by),
    "finish": lambda store, by: store.finish_leg(ID, "sell", None, close, by),
    "resume": lambda store, by: store.resume(ID, close, by),
    "balances": lambda store, by: store.balances.replace("alpha", OPENING["alpha"], "now", by),
}


@pytest.mark.parametrize("name", STEPS)
async def test_whoever_was_replaced_takes_no_further_step(store: TradeStore, name: str) -> None:
    await open_books(store)
    await reserve_both(store, opportunity())
    await sent(store, ID, "sell")
    replaced = await held_by(store, "one")
    await store.leases.release(replaced)
    await held_by(store, "two")
    before = await store.arbitrage(ID), await store.balances.rows()
    with pytest.raises(FencedOutError):
        await STEPS[name](store, replaced.actor)
    assert (await store.arbitrage(ID), await store.balances.rows()) == before
