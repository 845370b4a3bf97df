"""Two clients of one real server at the same time."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from threading import Event

import pytest

from market.trade import reservations
from market.trade.decision_record import reserve_request
from market.trade.leases import UNFENCED, Actor
from market.trade.reservations import Reservation, ReservationResult
from store.mongo.store import MongoTradeStore
from store.server.client import connect
from store.unit_of_work import UnitOfWork
from tests.market.samples import settings_of
from tests.store.booking import finish_leg
from tests.store.reservation_requests import (
    balances,
    close,
    complete,
    filled,
    granted,
    open_books,
    opportunity,
    ready_bot,
    request,
)

ROUNDS = 50
MANY = settings_of(max_open_arbitrages=1_000)
DEADLINE_SECONDS = 30


@pytest.fixture
async def other_store(mongodb_uri: str, database: str) -> AsyncIterator[MongoTradeStore]:
    """Return a second bot's own client."""
    async with MongoTradeStore(connect(mongodb_uri), database, "session-1") as store:
        yield store


async def test_two_bots_reserve_each_opportunity_once(
    mongo_store: MongoTradeStore, other_store: MongoTradeStore
) -> None:
    await open_books(mongo_store, MANY)
    for index in range(ROUNDS):
        of = opportunity(f"opportunity-{index}", sequence=index)
        results = await asyncio.gather(
            mongo_store.reserve(request("0.02", of, MANY), UNFENCED),
            other_store.reserve(request("0.02", of, MANY), UNFENCED),
        )
        arbitrage = await mongo_store.arbitrage(of.opportunity_id)
        assert arbitrage is not None
        assert [result.arbitrage for result in results] == [arbitrage, arbitrage]
        assert [leg.amount for leg in arbitrage.legs] == [Decimal("0.02")] * 2
        legs = arbitrage.legs
        ended = await asyncio.gather(
            finish_leg(mongo_store, of.opportunity_id, "buy", filled(legs[0]), close, UNFENCED),
            finish_leg(other_store, of.opportunity_id, "sell", filled(legs[1]), close, UNFENCED),
        )
        assert "closed" in {arbitrage.state for arbitrage in ended}
    assert {held for _, held in (await balances(mongo_store)).values()} == {Decimal(0)}
    assert (await balances(mongo_store))["alpha", "BTC"][0] == ROUNDS * Decimal("0.02")
    assert len(await mongo_store.fills()) == 2 * ROUNDS


async def test_a_leg_is_granted_once(mongo_store: MongoTradeStore, other_store: MongoTradeStore) -> None:
    """Its exchange had no bot when it was added."""
    await open_books(mongo_store)
    alpha = await ready_bot(mongo_store, "alpha")
    await mongo_store.reserve(request("2"), UNFENCED)
    buy, sell = await granted(mongo_store, ID, "buy"), await granted(mongo_store, ID, "sell")
    await finish_leg(mongo_store, ID, "buy", filled(buy), complete("0.5"), alpha)
    await finish_leg(mongo_store, ID, "sell", filled(sell, Decimal("1.5")), complete("0.5"), alpha)
    beta = await ready_bot(mongo_store, "beta")
    tries = [store.grant(ID, "complete", beta) for store in (mongo_store, other_store) for _ in range(10)]
    allowed = [leg for leg in await asyncio.gather(*tries) if leg is not None]
    assert allowed == [await granted(mongo_store, ID, "complete")]


async def test_opportunities_of_one_exchange_do_not_spend_the_same_balance(
    mongo_store: MongoTradeStore, other_store: MongoTradeStore
) -> None:
    """1,000 USD hold 9 units at 100.1; ten wishes of one each meet in the same row, each of a pair of its own."""
    await open_books(mongo_store, MANY)
    wanted = [each_its_pair(index) for index in range(10)]
    stores = (mongo_store, other_store)
    results = await asyncio.gather(*(stores[index % 2].reserve(one, UNFENCED) for index, one in enumerate(wanted)))
    assert sorted(result.rejection or "" for result in results) == [""] * 9 + ["insufficient_balance"]
    assert (await balances(mongo_store))["alpha", "USD"] == (Decimal("99.1"), Decimal("900.9"))
    assert (await balances(mongo_store))["beta", "BTC"] == (Decimal(1), Decimal(9))


ID = "opportunity-1"


def each_its_pair(index: int, amount: str = "1") -> Reservation:
    """Return a request with a base and quotes of its own, since a pair may be open only once."""
    of = opportunity(f"opportunity-{index}", sequence=index)
    return request(amount, replace(of, base=f"base-{index}"), MANY, minimum=amount)


@pytest.mark.parametrize("exchange", ["alpha", "beta"])
async def test_whoever_reads_after_a_veto_sees_every_reservation_that_was_taken(
    mongo_store: MongoTradeStore, other_store: MongoTradeStore, exchange: str
) -> None:
    await open_books(mongo_store, MANY)
    taken_at_all = 0
    for round_ in range(5):
        bots = {name: await ready_bot(mongo_store, name) for name in ("alpha", "beta")}
        wanted = [each_its_pair(100 * round_ + index, "0.001") for index in range(8)]
        reserving = [asyncio.create_task(mongo_store.reserve(one, bots["alpha"])) for one in wanted]
        # some are done, some under way, some not begun
        await asyncio.wait(reserving, return_when=asyncio.FIRST_COMPLETED)
        await other_store.leases.set_veto(bots[exchange], "bot_draining")
        seen = {one.arbitrage_id for one in await other_store.open_arbitrages()}
        results = await asyncio.gather(*reserving)
        taken = {result.arbitrage.arbitrage_id for result in results if result.arbitrage is not None}
        assert taken <= seen
        # no_bot: a lease ran out meanwhile, on a slow machine
        assert {result.rejection for result in results} <= {None, "bot_draining", "no_bot"}
        taken_at_all += len(taken)
    assert 0 < taken_at_all < 5 * 8


@dataclass(slots=True)
class HeldUp:
    """A reservation that stops before or after it writes, within its transaction, until it may go on."""

    wanted: Reservation
    by: Actor
    stops_after_writing: bool
    has_stopped: Event = field(default_factory=Event)
    may_go_on: Event = field(default_factory=Event)

    def __call__(self, unit: UnitOfWork) -> ReservationResult:
        before = unit.rows(self.wanted.opportunity, self.by)
        after, result = reservations.reserved(before, self.wanted)
        if not self.stops_after_writing:
            self.stop()
        unit.write(before, after, reserve_request(self.wanted))
        if self.stops_after_writing:
            self.stop()
        return result

    def stop(self) -> None:
        self.has_stopped.set()
        assert self.may_go_on.wait(DEADLINE_SECONDS)


@contextmanager
def released_at_last(held_up: HeldUp) -> Iterator[None]:
    """No thread is left waiting if the test fails."""
    try:
        yield
    finally:
        held_up.may_go_on.set()


async def test_a_reservation_that_read_no_veto_is_not_taken_after_it(
    mongo_store: MongoTradeStore, other_store: MongoTradeStore
) -> None:
    await open_books(mongo_store)
    alpha, beta = await ready_bot(mongo_store, "alpha"), await ready_bot(mongo_store, "beta")
    held_up = HeldUp(request(), alpha, stops_after_writing=False)
    with released_at_last(held_up):
        reserving = asyncio.create_task(mongo_store.in_unit_of_work(held_up))
        assert await asyncio.to_thread(held_up.has_stopped.wait, DEADLINE_SECONDS)
        await other_store.leases.set_veto(beta, "bot_draining")
        assert await other_store.open_arbitrages() == []
    result = await reserving
    assert (result.arbitrage, result.rejection) == (None, "bot_draining")
    assert await other_store.open_arbitrages() == []


async def test_a_veto_waits_for_a_reservation_that_has_written(
    mongo_store: MongoTradeStore, other_store: MongoTradeStore
) -> None:
    await open_books(mongo_store)
    alpha, beta = await ready_bot(mongo_store, "alpha"), await ready_bot(mongo_store, "beta")
    held_up = HeldUp(request(), alpha, stops_after_writing=True)
    with released_at_last(held_up):
        reserving = asyncio.create_task(mongo_store.in_unit_of_work(held_up))
        assert await asyncio.to_thread(held_up.has_stopped.wait, DEADLINE_SECONDS)
        vetoing = asyncio.create_task(other_store.leases.set_veto(beta, "bot_draining"))
        done, _ = await asyncio.wait({vetoing}, timeout=0.5)
        assert not done
    await vetoing
    seen = await other_store.open_arbitrages()
    assert [(await reserving).arbitrage] == seen
