"""A process takes its exchange's lease, keeps it over outages, and ends once another has it."""

import asyncio
from pathlib import Path

import pytest

from bots.lease_keeper import LeaseKeeper, holder_name
from exchanges.requests.rate_budget import RateBudget, account_budget
from exchanges.requests.rate_limits import rules_of
from market.trade.leases import LEASE_SECONDS, Lease, decision_right
from runtime.clock import region_clock
from runtime.clock_shift import CLOCK_FILE, keep_shift
from store.errors import FencedOutError, StoreUnavailableError
from store.memory.parts import MemoryLeases
from store.memory.store import MemoryTradeStore
from tests.store.conftest import SteppedClock


class LeasesWithOutages(MemoryLeases):
    """Not reached while `is_away`."""

    is_away = False

    async def renew(self, lease: Lease, used: str | None = None) -> Lease | None:
        if self.is_away:
            raise StoreUnavailableError("away")
        return await super().renew(lease, used)


def store_with_outages(clock: SteppedClock) -> tuple[MemoryTradeStore, LeasesWithOutages]:
    store, leases = MemoryTradeStore(clock), LeasesWithOutages(clock)
    store.leases = leases
    return store, leases


async def test_a_free_lease_is_taken_at_once_and_released_for_the_next() -> None:
    store = MemoryTradeStore(SteppedClock())
    first = LeaseKeeper(store.leases, "alpha", "one")
    assert (await first.acquire()).token == 1
    await first.release()
    assert (await LeaseKeeper(store.leases, "alpha", "two").acquire()).token == 2


async def test_only_the_right_to_decide_needs_the_primary_beside_it() -> None:
    """A bot acts for its exchange wherever it is."""
    store, leases = store_with_outages(SteppedClock())
    exchange, deciding = (LeaseKeeper(store.leases, of, "one", lambda: 0) for of in ("alpha", decision_right(0)))
    for lease in (exchange, deciding):
        await lease.acquire()
    leases.is_beside_primary = False
    assert (exchange.is_held(), deciding.is_held()) == (True, False)
    leases.is_beside_primary = True
    assert (exchange.is_held(), deciding.is_held()) == (True, True)


async def test_a_wall_clock_that_is_set_off_ends_and_prolongs_no_lease(tmp_path: Path) -> None:
    path, passed = tmp_path / CLOCK_FILE, [0]
    keep_shift(path, 0)
    with region_clock(path):
        lease = LeaseKeeper(MemoryTradeStore(SteppedClock()).leases, "alpha", "one", lambda: passed[0])
        await lease.acquire()
        for shift in (60_000_000, -60_000_000):
            keep_shift(path, shift)
            assert lease.is_held()
        passed[0] = int(LEASE_SECONDS * 1_000_000)
        assert not lease.is_held()


async def test_a_standby_says_so_and_takes_over_when_the_holder_is_gone() -> None:
    clock, said = SteppedClock(), asyncio.Event()
    store = MemoryTradeStore(clock)
    await LeaseKeeper(store.leases, "alpha", "one").acquire()
    waited = iter(range(0, 1_000_000_000, int(LEASE_SECONDS * 1_000_000)))
    standby = asyncio.create_task(LeaseKeeper(store.leases, "alpha", "two", lambda: next(waited)).acquire(said.set))
    await asyncio.wait_for(said.wait(), 10)
    assert not standby.done()
    await clock.sleep(LEASE_SECONDS)
    assert (await asyncio.wait_for(standby, 10)).token == 2


async def test_a_lease_is_held_from_the_question_on_and_no_longer_than_it_lasts() -> None:
    """By this process's own clock: an answer that was long on its way makes it no longer."""
    (store, leases), steady = store_with_outages(SteppedClock()), [0]
    lease = LeaseKeeper(store.leases, "alpha", "one", lambda: steady[0])
    assert not lease.is_held()
    await lease.acquire()
    lasts = int(LEASE_SECONDS * 1_000_000)
    steady[0] = lasts - 1
    assert lease.is_held()
    await lease.renew()
    steady[0] += lasts - 1
    assert lease.is_held()
    leases.is_away = True
    await lease.renew()
    steady[0] += 1
    assert not lease.is_held()


async def test_an_outage_ends_nothing_but_another_holder_does() -> None:
    clock = SteppedClock()
    store, leases = store_with_outages(clock)
    lease = LeaseKeeper(store.leases, "alpha", "one")
    await lease.acquire()
    leases.is_away = True
    await lease.renew()
    leases.is_away = False
    await clock.sleep(10 * LEASE_SECONDS)
    await lease.renew()
    assert await store.leases.acquire("alpha", "two") is None
    await clock.sleep(LEASE_SECONDS)
    assert await store.leases.acquire("alpha", "two") is not None
    with pytest.raises(FencedOutError, match="another process has taken over alpha"):
        await lease.renew()


async def taken(store: MemoryTradeStore, clock: SteppedClock, name: str) -> tuple[LeaseKeeper, RateBudget]:
    """By a process of bitFlyer's account, with what its rate limits leave it."""
    lease, budget = LeaseKeeper(store.leases, "bitflyer", name), account_budget("bitflyer", clock.now)
    await lease.acquire()
    lease.carry_usage(budget)
    return lease, budget


@pytest.mark.parametrize("end", ["killed", "released"])
async def test_a_process_that_takes_over_begins_with_what_the_last_had_used(end: str) -> None:
    clock = SteppedClock()
    store = MemoryTradeStore(clock)
    first, budget = await taken(store, clock, "one")
    while budget.has_room():
        budget.spend(rules_of("bitflyer").order)
    if end == "killed":
        await first.renew()
        await clock.sleep(LEASE_SECONDS)
    else:
        await first.release()
    second, budget = await taken(store, clock, "two")
    assert not budget.has_room()
    # nor does it forget if it is killed before its first renewal
    await clock.sleep(LEASE_SECONDS)
    third, budget = await taken(store, clock, "three")
    assert not budget.has_room()
    await clock.sleep(60)
    await third.renew()
    # one minute is bitFlyer's window of small orders
    assert (await taken_after(store, clock)).has_room()
    with pytest.raises(FencedOutError):
        await second.renew()


async def taken_after(store: MemoryTradeStore, clock: SteppedClock) -> RateBudget:
    await clock.sleep(LEASE_SECONDS)
    return (await taken(store, clock, "four"))[1]


def test_no_two_processes_have_one_name() -> None:
    assert holder_name("alpha") != holder_name("alpha")
