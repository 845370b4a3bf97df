"""A bot that is asked to go leaves no order of its own unwatched, begins nothing more, and closes its books."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from bots.decide.failover import POLL_SECONDS
from bots.draining import Draining, run_until_drained
from bots.loop import DRAIN_SECONDS
from market.trade.arbitrages import FINAL_STATES, Arbitrage
from market.trade.leases import NO_BOT, Actor, Veto, decision_right
from market.trade.reservations import Reservation, ReservationResult
from runtime.clock import Clock
from store.errors import FencedOutError
from store.memory.parts import MemoryLeases
from tests.bots.exchange_floor import WAIT_SECONDS, Floor, Mishaps, SlowStore, until
from tests.bots.ledger import balances_by_fills
from tests.bots.test_cycle_reserver import CYCLE, Bench
from tests.market.samples import settings_of

EASY = settings_of(max_notional=2_000, cool_down_ms=0, max_open_arbitrages=20, max_quote_age_ms=86_400_000)


@pytest.fixture
async def floor(tmp_path: Path) -> AsyncIterator[Floor]:
    one = Floor(tmp_path, EASY)
    await one.open()
    yield one
    for account in one.accounts.values():
        account.freed.set()
    for exchange in one.desks:
        await one.kill(exchange)


async def known(floor: Floor, identity: str) -> Arbitrage:
    found = await floor.store.arbitrage(identity)
    assert found is not None
    return found


async def ended(floor: Floor, identity: str) -> Arbitrage:
    await until(lambda: floor.store.arbitrage(identity), lambda one: one is not None and one.state in FINAL_STATES)
    return await known(floor, identity)


async def sent_and_stuck(floor: Floor, exchange: str) -> str:
    """Return an arbitrage whose order on `exchange` is there and unanswered, while the other side has ended."""
    floor.accounts[exchange].stuck = "after"
    identity = floor.offer().opportunity_id
    async with asyncio.timeout(WAIT_SECONDS):
        await floor.accounts[exchange].reached.wait()
    await until(
        lambda: known(floor, identity),
        lambda one: all(leg.is_final for leg in one.legs if leg.exchange != exchange) and len(one.legs) == 2,
    )
    return identity


async def rounds(floor: Floor) -> None:
    """Long enough for a desk that looks after everything to have looked some times."""
    for _ in range(3):
        await until(floor.store.open_arbitrages, lambda _: True)
        await asyncio.sleep(0.15)


async def test_a_bot_with_nothing_in_flight_goes_at_once_with_its_books_closed(floor: Floor) -> None:
    await ended(floor, floor.offer().opportunity_id)
    await floor.dismiss("alpha")
    before, after = await floor.store.balances.of_session()
    assert set(after) == {"alpha"}
    assert after["alpha"] == balances_by_fills(before, await floor.store.fills())["alpha"]
    assert not floor.desks["beta"].done()


@pytest.mark.parametrize("exchange", ["alpha", "beta"])
async def test_an_order_in_flight_is_watched_to_its_end_first(floor: Floor, exchange: str) -> None:
    identity = await sent_and_stuck(floor, exchange)
    floor.departures[exchange].request()
    await rounds(floor)
    # however late it is, since nobody else can look the order up
    await asyncio.sleep(2 * DRAIN_SECONDS)
    assert not floor.desks[exchange].done()
    floor.accounts[exchange].freed.set()
    async with asyncio.timeout(WAIT_SECONDS):
        await floor.desks[exchange]
    arbitrage = await known(floor, identity)
    assert arbitrage.state == "closed"
    assert [leg.state for leg in arbitrage.legs] == ["done", "done"]
    assert all(count == 1 for account in floor.accounts.values() for count in account.posts.values())


async def test_meanwhile_it_begins_nothing(floor: Floor) -> None:
    await sent_and_stuck(floor, "alpha")
    floor.departures["alpha"].request()
    await until(floor.store.open_arbitrages, lambda _: True)
    later = floor.offer().opportunity_id
    await rounds(floor)
    found = await floor.store.arbitrage(later)
    assert found is None


class LateLeases(MemoryLeases):
    """Vetoes wait until they may be written."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.may_veto = asyncio.Event()
        self.may_veto.set()

    async def set_veto(self, by: Actor, veto: Veto | None) -> None:
        await self.may_veto.wait()
        await super().set_veto(by, veto)


class LateStore(SlowStore):
    """Reservations wait until they may be made."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, Mishaps(Random(1)))
        self.may_reserve, self.asked = asyncio.Event(), asyncio.Event()
        self.leases = self.late = LateLeases(clock)

    async def reserve(self, reservation: Reservation, by: Actor) -> ReservationResult:
        self.asked.set()
        await self.may_reserve.wait()
        return await super().reserve(reservation, by)


async def turns() -> None:
    """Enough of the loop's for all that waits for nothing else."""
    for _ in range(50):
        await asyncio.sleep(0)


async def reserving_and_asked_to_go(floor: Floor, store: LateStore) -> str:
    """Alpha's bot decides; its reservation is under way."""
    floor.store = store
    await floor.open()
    identity = floor.offer().opportunity_id
    async with asyncio.timeout(WAIT_SECONDS):
        await store.asked.wait()
    floor.departures["alpha"].request()
    return identity


async def test_a_reservation_before_its_veto_is_seen_through(tmp_path: Path) -> None:
    floor = Floor(tmp_path, EASY)
    store = LateStore(floor.clock)
    identity = await reserving_and_asked_to_go(floor, store)
    store.late.may_veto.clear()
    await turns()
    store.may_reserve.set()
    await until(lambda: store.arbitrage(identity), lambda one: one is not None)
    store.late.may_veto.set()
    async with asyncio.timeout(WAIT_SECONDS):
        await floor.desks["alpha"]
    assert (await known(floor, identity)).state == "closed"
    await floor.kill("beta")


async def test_a_reservation_after_its_veto_is_not_made(tmp_path: Path) -> None:
    floor = Floor(tmp_path, EASY)
    store = LateStore(floor.clock)
    identity = await reserving_and_asked_to_go(floor, store)
    await turns()
    store.may_reserve.set()
    async with asyncio.timeout(WAIT_SECONDS):
        await floor.desks["alpha"]
    assert await store.arbitrage(identity) is None
    assert all(account.posts == {} for account in floor.accounts.values())
    await floor.kill("beta")


async def test_whoever_goes_writes_what_cycles_were_refused_for(floor: Floor) -> None:
    bot_loop = floor.departures["alpha"].bot_loop
    assert bot_loop is not None
    bot_loop.trade_cycles([CYCLE], "USD")
    assert bot_loop.cycles is not None
    bot_loop.cache.settings = EASY.model_copy(update={"trading_state": "halted"})
    bot_loop.cycles.consider(Bench().found(expires_at=2**62))
    await floor.dismiss("alpha")
    assert [one.reason for one in floor.store.cycle_rejections.values()] == ["halted"]


async def test_whoever_goes_leaves_deciding_to_another_at_once(floor: Floor) -> None:
    """With a veto, so that nobody reserves a leg that it would have to post."""
    await floor.dismiss("alpha")
    await asyncio.sleep(POLL_SECONDS + 0.1)
    leases = {lease.exchange: lease for lease in await floor.store.leases.all()}
    assert (leases[decision_right(0)].holder, leases["alpha"].veto) == ("beta-desk", "bot_draining")
    opportunity = floor.offer()
    await until(floor.store.rejection_counts, lambda counts: counts == {NO_BOT: 1})
    assert await floor.store.arbitrage(opportunity.opportunity_id) is None


async def test_the_last_bots_of_both_exchanges_go_together(floor: Floor) -> None:
    identity = await sent_and_stuck(floor, "beta")
    floor.departures["alpha"].request()
    floor.departures["beta"].request()
    floor.accounts["beta"].freed.set()
    async with asyncio.timeout(WAIT_SECONDS):
        await asyncio.gather(*floor.desks.values())
    assert (await known(floor, identity)).state == "closed"
    before, after = await floor.store.balances.of_session()
    assert after == balances_by_fills(before, await floor.store.fills())


async def test_for_what_another_bot_has_to_see_through_it_waits_no_longer_than_a_session(floor: Floor) -> None:
    identity = await sent_and_stuck(floor, "beta")
    await floor.kill("beta")
    floor.departures["alpha"].request()
    await rounds(floor)
    assert not floor.desks["alpha"].done()
    async with asyncio.timeout(WAIT_SECONDS):
        await floor.desks["alpha"]
    assert [leg.state for leg in (await known(floor, identity)).legs if leg.exchange == "alpha"] == ["done"]
    assert (await known(floor, identity)).state not in FINAL_STATES


async def test_one_that_is_started_again_trades_on(floor: Floor) -> None:
    await floor.dismiss("alpha")
    await floor.start("alpha")
    assert (await ended(floor, floor.offer().opportunity_id)).state == "closed"
    await floor.store.stop_reservations()

    async def is_closed_again() -> bool:
        # what it said when it was dismissed is not the last word
        before, after = await floor.store.balances.of_session()
        return after == balances_by_fills(before, await floor.store.fills())

    assert await until(is_closed_again, lambda closed: closed)


async def test_a_process_without_a_desk_goes_at_once() -> None:
    async def stand_by() -> None:
        await asyncio.Event().wait()

    draining = Draining()
    draining.request()
    async with asyncio.timeout(WAIT_SECONDS):
        await run_until_drained(stand_by(), draining)


async def test_what_fails_before_it_goes_is_said() -> None:
    async def fail() -> None:
        raise FencedOutError("taken over")

    with pytest.raises(FencedOutError):
        await run_until_drained(fail(), Draining())
