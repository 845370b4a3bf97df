"""Whoever decides books what was reported, and takes the steps that nobody reports."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pytest

from bots.decide.booker import GIVEN_ROUNDS, Booker, DueCycle, due_cycles, due_steps
from bots.decide.write_turns import WriteTurns
from market.trade.arbitrages import Arbitrage, ArbitrageState, Leg, LegRole, LegState
from market.trade.cycle_lifecycle import cycle_booked
from market.trade.cycle_trades import CycleTrade
from market.trade.leases import LEASE_SECONDS, Actor, decision_right
from market.trade.leg_lifecycle import WAIT_WITHIN, Advance
from market.trade.order_results import result_of
from market.trade.unwinding import Markets, advancing, markets_by_symbol
from store.errors import StoreUnavailableError
from store.memory.store import MemoryTradeStore
from store.ports.trading import Overview
from tests.bots.hurried_loop import LoopClock
from tests.market.cycle_samples import triangle
from tests.market.samples import EUR_MARKET, USD_MARKET, arbitrage_of, levels, opportunity_of, order_leg
from tests.market.test_cycle_lifecycle import begun, names_of, trade_of
from tests.market.test_cycle_lifecycle import filled as cycle_filled
from tests.store.reservation_requests import filled, leg_of, open_books, opportunity, ready_bot, reserved

ID = "opportunity-1"
ROUND_SECONDS = 1.0
SYMBOLS = markets_by_symbol((USD_MARKET, EUR_MARKET))
NOW = 200
"""The last moment of `send_by`."""
ONE = Decimal(1)


class CountingStore(MemoryTradeStore):
    """Bookings, of which some fail."""

    def __init__(self, clock: LoopClock) -> None:
        super().__init__(clock)
        self.booked: list[str] = []
        self.failing = 0
        self.overviews = 0

    async def overview(self) -> Overview:
        self.overviews += 1
        return await super().overview()

    async def book(self, arbitrage_id: str, advance: Advance, by: Actor) -> Arbitrage:
        self.booked.append(arbitrage_id)
        if self.failing:
            self.failing -= 1
            raise StoreUnavailableError("away")
        return await super().book(arbitrage_id, advance, by)


@dataclass
class Bench:
    clock: LoopClock = field(default_factory=LoopClock)
    handled: list[Arbitrage | CycleTrade] = field(default_factory=list)
    known: dict[str, Arbitrage] = field(default_factory=dict)
    actor: Actor | None = None
    """As whom it books, if it does."""

    def __post_init__(self) -> None:
        self.store = CountingStore(self.clock)

    async def begin(self, markets: Markets = SYMBOLS) -> list[Leg]:
        """Both legs of one arbitrage are granted, by whoever decides."""
        await open_books(self.store)
        lease = await self.store.leases.acquire(decision_right(0), "one")
        assert lease is not None
        self.actor = lease.actor
        self.known[ID] = await reserved(self.store, amount="2")
        self.booker = Booker(
            store=self.store,
            advance=advancing(tuple(markets.values())),
            markets=markets,
            actor_of=lambda _base: self.actor,
            is_on=lambda: self.actor is not None,
            open_trade=self.known.get,
            handle=self.handled.append,
            round_seconds=ROUND_SECONDS,
            turns=WriteTurns(lambda: False),
            steady_clock=self.clock.now,
        )
        self.task = asyncio.create_task(self.booker.run())
        await self.turns()
        return list(self.known[ID].legs)

    async def turns(self) -> None:
        """All that goes on without time passing."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def rounds(self, count: int = 1) -> None:
        await asyncio.sleep(count * ROUND_SECONDS)
        await self.turns()

    async def report(self, leg: Leg, amount: Decimal | None = None) -> None:
        assert self.actor is not None
        await self.store.report_order(result_of(ID, leg, filled(leg, amount)), self.actor)
        await self.turns()

    async def arbitrage(self) -> Arbitrage:
        found = await self.store.arbitrage(ID)
        assert found is not None
        return found


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    one = Bench()
    yield one
    one.task.cancel()
    await asyncio.wait([one.task])


async def test_both_legs_are_booked_in_one_transaction_once_both_are_reported(bench: Bench) -> None:
    buy, sell = await bench.begin()
    await bench.report(sell)
    assert bench.store.booked == []
    await bench.report(buy)
    assert bench.store.booked == [ID]
    assert [one.state for one in bench.handled] == ["closed"]
    assert {step.actor for step in (await bench.arbitrage()).history[-1:]} == {"one"}
    await bench.rounds(3)
    assert bench.store.booked == [ID], "nothing is left to book"


async def test_what_another_part_reads_is_not_read_again(bench: Bench) -> None:
    _, sell = await bench.begin()
    await bench.report(sell)
    bench.store.overviews = 0
    await bench.booker.look(await bench.store.overview())
    await bench.turns()
    assert bench.store.booked == [ID], "what it was given counts as a round"
    await bench.rounds(GIVEN_ROUNDS - 1)
    assert bench.store.overviews == 1
    await bench.rounds(GIVEN_ROUNDS)
    assert bench.store.overviews > 1, "once nobody gives it any more it reads itself"


async def test_what_stays_alone_is_booked_in_the_next_round(bench: Bench) -> None:
    buy, sell = await bench.begin()
    await bench.report(sell)
    await bench.rounds()
    assert [leg.state for leg in (await bench.arbitrage()).legs] == ["granted", "done"]
    await bench.report(buy)
    assert (await bench.arbitrage()).state == "closed"
    assert bench.store.booked == [ID, ID]


async def test_an_acknowledgement_completes_nothing(bench: Bench) -> None:
    buy, sell = await bench.begin()
    await bench.report(sell)
    known = replace(filled(buy, Decimal(0)), is_final=False, exchange_order_id="order-7")
    assert bench.actor is not None
    await bench.store.report_order(result_of(ID, buy, known), bench.actor)
    await bench.turns()
    assert bench.store.booked == []
    await bench.rounds()
    assert leg_of(await bench.arbitrage(), "buy").exchange_order_id == "order-7"


async def test_what_failed_is_booked_in_a_later_round(bench: Bench) -> None:
    buy, sell = await bench.begin()
    bench.store.failing = 2
    await bench.report(sell)
    await bench.report(buy)
    assert (await bench.arbitrage()).state == "reserved"
    await bench.rounds(2)
    assert (await bench.arbitrage()).state == "closed"


async def test_what_another_process_books_is_left_to_it(bench: Bench) -> None:
    buy, sell = await bench.begin()
    by, bench.actor = bench.actor, None
    assert by is not None
    for leg in (buy, sell):
        await bench.store.report_order(result_of(ID, leg, filled(leg)), by)
    await bench.rounds(3)
    assert bench.store.booked == []
    # its turn has come: what was reported before is booked at once
    bench.actor = by
    await bench.rounds(2)
    assert (await bench.arbitrage()).state == "closed"


async def test_what_cannot_be_booked_is_logged_once_and_stops_nothing(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    buy, sell = await bench.begin()
    assert bench.actor is not None
    await bench.store.report_order(result_of(ID, replace(buy, role="flatten"), None), bench.actor)
    await bench.report(sell)
    await bench.rounds(3)
    assert [one.levelname for one in caplog.records if "cannot be booked" in one.getMessage()] == ["ERROR"]
    assert not bench.task.done()
    # a pair may be open once
    other = replace(opportunity("opportunity-2", sequence=2), base="ETH")
    second = await reserved(bench.store, other, "0.1")
    bench.known[second.arbitrage_id] = second
    for leg in second.legs:
        await bench.store.report_order(result_of(second.arbitrage_id, leg, filled(leg)), bench.actor)
    await bench.rounds()
    assert [one.arbitrage_id for one in bench.handled] == [second.arbitrage_id]


async def test_one_that_was_replaced_books_nothing_and_goes_on(bench: Bench) -> None:
    buy, sell = await bench.begin()
    await asyncio.sleep(LEASE_SECONDS + 1)
    taken = await bench.store.leases.acquire(decision_right(0), "two")
    assert taken is not None
    for leg in (buy, sell):
        await bench.store.report_order(result_of(ID, leg, filled(leg)), taken.actor)
    await bench.rounds()
    assert (await bench.arbitrage()).state == "reserved"
    assert not bench.task.done()
    bench.actor = taken.actor
    await bench.rounds()
    assert (await bench.arbitrage()).state == "closed"


async def single_leg(bench: Bench) -> None:
    """Sold less than was bought; what completes it waits: nobody acts for beta."""
    buy, sell = await bench.begin()
    await ready_bot(bench.store, "alpha")
    await bench.report(buy)
    await bench.report(sell, Decimal(1))
    assert leg_of(await bench.arbitrage(), "complete").state == "reserved"


async def test_a_waiting_leg_is_granted_once_its_exchange_has_a_bot(bench: Bench) -> None:
    await single_leg(bench)
    bench.known[ID] = await bench.arbitrage()
    bench.handled.clear()
    await bench.rounds(2)
    assert await bench.arbitrage() == bench.known[ID]
    assert bench.handled == [], "nothing has changed"
    beta = await ready_bot(bench.store, "beta")
    await bench.rounds()
    added = leg_of(await bench.arbitrage(), "complete")
    assert (added.state, added.token) == ("granted", beta.token)


async def test_a_waiting_leg_past_its_time_ends_and_the_next_step_follows(bench: Bench) -> None:
    await single_leg(bench)
    await asyncio.sleep(WAIT_WITHIN / 1_000_000 + 2 * ROUND_SECONDS)
    arbitrage = await bench.arbitrage()
    added = leg_of(arbitrage, "complete")
    assert added.state == "not_sent"
    assert added.held == 0
    assert leg_of(arbitrage, "reverse").exchange == "alpha", "what was bought is sold again where it is"


def leg(state: LegState, *, is_settled: bool = True, role: LegRole = "buy") -> Leg:
    is_over = state in ("done", "not_sent") and is_settled
    return replace(order_leg(USD_MARKET, "buy", ONE, ONE), role=role, state=state, times={"done": 1} if is_over else {})


OTHER = replace(order_leg(EUR_MARKET, "sell", ONE, ONE), state="done", times={"done": 1})


def due(own: Leg, state: ArbitrageState = "reserved", now: int = NOW, markets: Markets = SYMBOLS) -> list[str]:
    opportunity = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))))
    one = replace(arbitrage_of(opportunity, own, OTHER), state=state, send_by=NOW)
    return [step.what for step in due_steps([one], markets, now)]


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (leg("reserved"), ["grant"]),
        (leg("granted"), []),
        # too late to be granted, and not settled
        (leg("not_sent", is_settled=False), ["book"]),
        # everything has ended, and the arbitrage has not
        (leg("done"), ["book"]),
        (leg("not_sent"), ["book"]),
    ],
)
def test_what_is_due(own: Leg, expected: list[str]) -> None:
    assert due(own) == due(own, now=NOW + 1) == expected
    assert due(own, "closed") == []


@pytest.mark.parametrize(("state", "expected"), [("reserved", "abandon"), ("granted", "abandon"), ("done", "book")])
def test_a_leg_of_a_market_that_is_gone_is_abandoned_once_late(state: LegState, expected: str) -> None:
    gone = markets_by_symbol((EUR_MARKET,))
    assert due(leg(state), now=NOW + 1, markets=gone) == [expected]


def test_a_waiting_leg_of_a_cycle_is_due_once_its_proceeds_are_booked() -> None:
    """Before, to book changes nothing, however late it is."""
    case = triangle({("alpha", "USD"): Decimal(100_000)})
    rows = begun(case)
    markets = markets_by_symbol(tuple(leg.market for leg in case.request.cycle.legs))
    late = rows.now + 2 * WAIT_WITHIN
    assert names_of(rows, "waiting") == ["leg2", "leg3"]
    assert cycle_booked(replace(rows, now=late)).trade is rows.trade
    assert due_cycles([trade_of(rows)], markets, late) == []
    nobody = cycle_filled(replace(rows, leases={}), "leg1")
    assert names_of(nobody, "waiting") == ["leg2", "leg3"]
    assert due_cycles([trade_of(nobody)], markets, rows.now) == [DueCycle(trade_of(nobody))]


def test_an_unwinding_order_of_a_cycle_that_waits_for_its_exchange_is_due() -> None:
    case = triangle(single_leg_policy="reverse")
    markets = markets_by_symbol(tuple(leg.market for leg in case.request.cycle.legs))
    rows = cycle_filled(replace(cycle_filled(begun(case), "leg1"), leases={}), "leg2", "0")
    assert due_cycles([trade_of(rows)], markets, rows.now) == []
    rows = cycle_filled(rows, "leg3", "0")
    assert names_of(rows, "waiting") == ["reverse1"]
    assert due_cycles([trade_of(rows)], markets, rows.now) == [DueCycle(trade_of(rows))]


async def test_an_abandoned_leg_ends_with_its_arbitrage() -> None:
    """Bought in this session, to be sold on an exchange that the next one has not."""
    bench = Bench()
    buy, sell = await bench.begin(markets_by_symbol((USD_MARKET,)))
    await bench.report(buy)
    await bench.rounds(2)
    assert leg_of(await bench.arbitrage(), "sell").state == "not_sent"
    assert (await bench.arbitrage()).state == "residual"
    assert sell.exchange == "beta"
    bench.task.cancel()
    await asyncio.wait([bench.task])


async def test_a_look_while_another_process_books_is_no_look(bench: Bench) -> None:
    legs = await bench.begin()
    actor, bench.actor = bench.actor, None
    await bench.booker.look(await bench.store.overview())
    seen = bench.store.overviews
    bench.actor = actor
    await bench.rounds()
    assert bench.store.overviews > seen
    assert len(legs) == 2
