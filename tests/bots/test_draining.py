"""A bot that is asked to go leaves no order of its own unwatched, begins nothing more, and closes its books."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from bots.bot_loop import DRAIN_SECONDS
from bots.draining import Draining, run_until_drained
from market.time_units import MICROSECONDS
from market.trade.arbitrages import FINAL_STATES, Arbitrage
from market.trade.leases import Actor
from market.trade.reservations import Reservation, ReservationResult
from session.clock import Clock, steady_now
from store.errors import FencedOutError
from tests.bots.exchange_floor import WAIT_SECONDS, Floor, Mishaps, SlowStore, until
from tests.bots.ledger import balances_by_fills
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
    """An arbitrage whose order on `exchange` is there and unanswered, while the other side has ended."""
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
    floor.steady_clock = lambda: steady_now() + int(2 * DRAIN_SECONDS * MICROSECONDS)
    await rounds(floor)
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
    assert found is None or [leg.exchange for leg in found.legs] == ["beta"]
    assert await floor.store.rejection_counts() == {}


class LateStore(SlowStore):
    """Reservations wait until they may be made, and answers of what is open until they may be read."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, Mishaps(Random(1)))
        self.may_reserve = asyncio.Semaphore(0)
        self.may_read, self.asked = asyncio.Event(), asyncio.Event()
        self.may_read.set()

    async def reserve(self, reservation: Reservation, by: Actor) -> ReservationResult:
        self.asked.set()
        await self.may_reserve.acquire()
        return await super().reserve(reservation, by)

    async def open_arbitrages(self) -> list[Arbitrage]:
        found = await super().open_arbitrages()
        await self.may_read.wait()
        return found


async def turns() -> None:
    """Enough of the loop's for all that waits for nothing else."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_a_reservation_that_is_made_while_it_looks_is_seen_through(tmp_path: Path) -> None:
    floor = Floor(tmp_path, EASY)
    floor.store = store = LateStore(floor.clock)
    await floor.open()
    identity = floor.offer(reported=("alpha",)).opportunity_id
    async with asyncio.timeout(WAIT_SECONDS):
        await store.asked.wait()
    store.may_read.clear()
    floor.departures["alpha"].request()
    await turns()
    store.may_reserve.release()
    await until(lambda: store.arbitrage(identity), lambda one: one is not None)
    await turns()
    store.may_read.set()
    await turns()
    # only now the other bot takes up the half that was left to it
    store.may_reserve.release()
    async with asyncio.timeout(WAIT_SECONDS):
        await floor.desks["alpha"]
    assert (await known(floor, identity)).state == "closed"
    await floor.kill("beta")


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
    floor.steady_clock = lambda: steady_now() + int(2 * DRAIN_SECONDS * MICROSECONDS)
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
