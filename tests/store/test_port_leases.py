"""Leases with fencing tokens, on both adapters."""

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal

import pytest

from market.trade.arbitrages import Arbitrage
from market.trade.leases import LEASE_SECONDS, Actor, Lease, Veto
from runtime.clock import SystemClock, wall_now
from store.errors import FencedOutError
from store.ports.trading import TradeStore
from tests.store.booking import finish_leg, record_sent
from tests.store.reservation_requests import (
    OPENING,
    balances,
    close,
    complete,
    filled,
    granted,
    open_books,
    opportunity,
    ready_bot,
    request,
    reserved,
)

ID = "opportunity-1"


async def held_by(store: TradeStore, holder: str) -> Lease:
    """Return the lease of alpha, once `holder` gets it; another's runs out in a few seconds."""
    deadline = wall_now() + 30_000_000
    while (lease := await store.leases.acquire("alpha", holder)) is None:
        assert wall_now() < deadline
        await SystemClock().sleep(0.1)
    return lease


def test_without_regions_any_process_may_decide(store: TradeStore) -> None:
    assert store.leases.may_decide()


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
    await store.leases.set_veto(new, None)
    await ready_bot(store, "beta")
    with pytest.raises(FencedOutError):
        await store.reserve(request(), old)
    assert (await store.reserve(request(), new)).arbitrage is not None


Step = Callable[[TradeStore, Actor], Awaitable[object]]

STEPS: dict[str, Step] = {
    "reserve": lambda store, by: store.reserve(request(of=opportunity("another", 2)), by),
    "grant": lambda store, by: store.grant(ID, "buy", by),
    "note sent": lambda store, by: record_sent(store, ID, "sell", "order-1", by),
    "finish": lambda store, by: finish_leg(store, ID, "sell", None, close, by),
    "resume": lambda store, by: store.resume(ID, close, by),
    "veto": lambda store, by: store.leases.set_veto(by, None),
    "balances": lambda store, by: store.balances.replace("alpha", OPENING["alpha"], "now", by),
}


@pytest.mark.parametrize("name", STEPS)
async def test_whoever_was_replaced_takes_no_further_step(store: TradeStore, name: str) -> None:
    await open_books(store)
    await reserved(store)
    replaced = await held_by(store, "one")
    await store.leases.release(replaced)
    await held_by(store, "two")
    before = await store.arbitrage(ID), await store.balances.rows(), await store.leases.all()
    with pytest.raises(FencedOutError):
        await STEPS[name](store, replaced.actor)
    assert (await store.arbitrage(ID), await store.balances.rows(), await store.leases.all()) == before


async def test_each_leg_is_granted_with_the_token_of_the_process_that_acts_for_its_exchange(store: TradeStore) -> None:
    await open_books(store)
    await store.leases.release(await held_by(store, "before"))
    alpha, beta = await ready_bot(store, "alpha"), await ready_bot(store, "beta")
    arbitrage = (await store.reserve(request(), alpha)).arbitrage
    assert arbitrage is not None
    assert [(leg.exchange, leg.state, leg.token) for leg in arbitrage.legs] == [
        ("alpha", "granted", 2),
        ("beta", "granted", 1),
    ]
    assert (alpha.token, beta.token) == (2, 1)
    assert await store.arbitrage(ID) == arbitrage


async def test_a_process_that_has_just_begun_takes_no_trades_before_it_says_so(store: TradeStore) -> None:
    await open_books(store)
    alpha = await ready_bot(store, "alpha")
    lease = await store.leases.acquire("beta", "beta-1")
    assert lease is not None
    assert (await store.reserve(request(), alpha)).rejection == "no_bot"
    await store.leases.set_veto(lease.actor, None)
    # nor does one that follows one that took them
    again = await held_by(store, "alpha-1")
    assert (await store.reserve(request(), again.actor)).rejection == "no_bot"
    await store.leases.set_veto(again.actor, None)
    assert (await store.reserve(request(), again.actor)).arbitrage is not None


VETOES: list[Veto] = ["no_bot", "bot_draining", "account_rejected"]


@pytest.mark.parametrize("exchange", ["alpha", "beta"])
@pytest.mark.parametrize("veto", VETOES)
async def test_a_veto_of_either_exchange_keeps_both_legs_away_until_it_is_lifted(
    store: TradeStore, exchange: str, veto: Veto
) -> None:
    await open_books(store)
    bots = {name: await ready_bot(store, name) for name in ("alpha", "beta")}
    before = await balances(store)
    await store.leases.set_veto(bots[exchange], veto)
    rejected = await store.reserve(request(), bots["alpha"])
    assert (rejected.arbitrage, rejected.rejection) == (None, veto)
    assert (await store.arbitrage(ID), await balances(store)) == (None, before)
    await store.leases.set_veto(bots[exchange], None)
    assert (await store.reserve(request(), bots["alpha"])).rejection is None


async def test_where_nobody_acts_for_the_other_exchange_nothing_is_reserved(store: TradeStore) -> None:
    await open_books(store)
    alpha = await ready_bot(store, "alpha")
    assert (await store.reserve(request(), alpha)).rejection == "no_bot"
    await gone(store, await ready_bot(store, "beta"))
    assert (await store.reserve(request(), alpha)).rejection == "no_bot"
    await ready_bot(store, "beta")
    assert (await store.reserve(request(), alpha)).rejection is None


async def test_a_renewal_leaves_the_veto_as_it_is(store: TradeStore) -> None:
    """Whoever renews may know an older one."""
    lease = await held_by(store, "one")
    vetoes: list[Veto | None] = [None, "bot_draining", "account_rejected", None]
    for number, veto in enumerate(vetoes):
        await store.leases.set_veto(lease.actor, veto)
        again = await store.leases.renew(lease, f"used {number}")
        assert again is not None
        assert (again.veto, again.used) == (veto, f"used {number}")
        assert await store.leases.all() == [again]


async def test_a_veto_and_a_renewal_at_the_same_moment_are_both_kept(store: TradeStore) -> None:
    lease = await held_by(store, "one")
    for number in range(30):
        veto: Veto | None = "bot_draining" if number % 2 else None
        again, _ = await asyncio.gather(
            store.leases.renew(lease, f"used {number}"), store.leases.set_veto(lease.actor, veto)
        )
        assert again is not None
        (kept,) = await store.leases.all()
        assert (kept.veto, kept.used, kept.token) == (veto, f"used {number}", lease.token)


async def test_leases_are_listed_by_exchange_those_that_ran_out_among_them(store: TradeStore) -> None:
    beta, alpha = await ready_bot(store, "beta"), await ready_bot(store, "alpha")
    await gone(store, beta)
    assert [(one.exchange, one.holder, one.veto) for one in await store.leases.all()] == [
        ("alpha", "alpha-1", None),
        ("beta", "beta-1", None),
    ]
    assert alpha.token == 1


async def gone(store: TradeStore, actor: Actor) -> None:
    """Its lease has run out."""
    (lease,) = (one for one in await store.leases.all() if one.actor == actor)
    await store.leases.release(lease)


async def single_leg(store: TradeStore, by: Actor) -> Arbitrage:
    """Bought on alpha and only half sold on beta, where the rest is to be sold."""
    await finish_leg(store, ID, "buy", filled(await granted(store, ID, "buy")), COMPLETE, by)
    return await finish_leg(store, ID, "sell", filled(await granted(store, ID, "sell"), Decimal(1)), COMPLETE, by)


COMPLETE = complete("0.5")


@pytest.mark.parametrize("veto", [None, "bot_draining"])
async def test_an_added_leg_is_granted_at_once_to_the_bot_of_its_exchange_even_if_it_takes_no_new_trades(
    store: TradeStore, veto: Veto | None
) -> None:
    await open_books(store)
    await gone(store, await ready_bot(store, "beta"))
    alpha, beta = await ready_bot(store, "alpha"), await ready_bot(store, "beta")
    await store.reserve(request(), alpha)
    await store.leases.set_veto(beta, veto)
    added = (await single_leg(store, alpha)).leg("complete")
    assert added is not None
    assert (added.exchange, added.state, added.token, beta.token) == ("beta", "granted", 2, 2)
    assert await store.grant(ID, "complete", beta) is None
    assert (await store.arbitrage(ID)) is not None


async def test_an_added_leg_that_nobody_can_post_waits_and_is_granted_to_the_next_bot(store: TradeStore) -> None:
    await open_books(store)
    alpha, beta = await ready_bot(store, "alpha"), await ready_bot(store, "beta")
    await store.reserve(request(), alpha)
    await gone(store, beta)
    single = await single_leg(store, alpha)
    waiting = single.leg("complete")
    assert waiting is not None
    assert (waiting.state, waiting.token, waiting.held) == ("reserved", 0, Decimal("0.5"))
    assert single.send_by == waiting.times["reserved"] + 15_000_000
    assert await store.grant(ID, "complete", alpha) is None
    assert await store.arbitrage(ID) == single
    # it need not take new trades
    following = await store.leases.acquire("beta", "beta-2")
    assert following is not None
    leg = await store.grant(ID, "complete", alpha)
    assert leg is not None
    assert (leg.state, leg.token) == ("granted", following.token) == ("granted", beta.token + 1)
    after = await store.arbitrage(ID)
    assert after is not None
    assert after.leg("complete") == leg
    assert after.send_by == leg.times["granted"] + 1_000_000
    assert await store.grant(ID, "complete", following.actor) is None
    assert await store.arbitrage(ID) == after
    assert (await finish_leg(store, ID, "complete", filled(leg), COMPLETE, following.actor)).state == "closed"
