"""What whoever decides does with an opportunity: it takes it, reserves both legs of it, or says why not."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction

import pytest

from bots.decide.order_decision import Rejected, decide
from bots.decide.reserver import NO_DECIDER, Reserver
from bots.decide.state_cache import StateCache
from market.decide.place_values import LegPace, PlacesLeft, PlaceValues
from market.prices.episodes import tradable_profit
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from market.trade.decision_record import rejection_record_of
from market.trade.leases import LEASE_SECONDS, UNFENCED, Actor, Veto, decision_right
from market.trade.reservation_state import liquidity_key
from market.trade.reservations import Reservation, ReservationResult
from market.trade.unwinding import markets_by_symbol
from runtime.clock import Clock
from store.errors import StoreUnavailableError
from store.memory.store import MemoryTradeStore
from tests.bots.exchange_floor import OPENING
from tests.market.samples import EUR_MARKET, MARKETS, USD_MARKET, levels, opportunity_of, settings_of
from tests.store.conftest import SteppedClock

SETTINGS = settings_of(max_notional=600)


class HeldStore(MemoryTradeStore):
    """Reservations wait while it is held up; all that were asked for are kept."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.may_reserve = asyncio.Event()
        self.may_reserve.set()
        self.asked: list[Reservation] = []
        self.is_away = False

    async def reserve(self, reservation: Reservation, by: Actor) -> ReservationResult:
        self.asked.append(reservation)
        await self.may_reserve.wait()
        if self.is_away:
            raise StoreUnavailableError("away")
        return await super().reserve(reservation, by)


@dataclass
class Said:
    """What became of opportunities."""

    reasons: list[str] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    acted_on: list[str] = field(default_factory=list)

    def record_opportunity(self, opportunity: Opportunity) -> None:
        self.acted_on.append(opportunity.opportunity_id)

    def reject(
        self, opportunity: Opportunity, reason: str, rejected_at: int, record: Callable[[], str] | None = None
    ) -> None:
        self.reasons.append(reason)
        if record is not None:
            self.records.append(record())


@dataclass
class Bench:
    """The store, a bot at each exchange, and whoever decides."""

    clock: SteppedClock = field(default_factory=SteppedClock)
    notes: Said = field(default_factory=Said)
    executed: list[Arbitrage] = field(default_factory=list)
    left: int | None = None
    """How many more legs the rate limits allow."""
    under_way: list[int] = field(default_factory=list)
    """As told with each question for it."""
    decider: Actor | None = None
    acting: dict[str, Actor] = field(default_factory=dict)

    async def open(self) -> None:
        self.store = HeldStore(self.clock)
        await self.store.settings.create(SETTINGS)
        self.cache = StateCache(SETTINGS)
        for exchange, balances in OPENING.items():
            await self.store.balances.replace(exchange, balances, "before", UNFENCED)
            self.acting[exchange] = await self.leased(exchange)
        self.decider = await self.leased(decision_right(0))
        self.cache.update_balances(await self.store.balances.rows())
        self.reserver = Reserver(
            store=self.store,
            markets=markets_by_symbol(MARKETS),
            clock=self.clock,
            cache=self.cache,
            rejection_log=self.notes,
            execute=self.executed.append,
            actor_of=lambda base: self.decider if base == "BTC" else None,
            places_left=self._places_left,
            wall_clock=self.clock.now,
        )

    def _places_left(self, opportunity: Opportunity, under_way: int) -> PlacesLeft:
        self.under_way.append(under_way)
        return self.left, None

    async def leased(self, what: str, holder: str = "one") -> Actor:
        lease = await self.store.leases.acquire(what, holder)
        assert lease is not None
        await self.store.leases.set_veto(lease.actor, None)
        return lease.actor

    def opportunity(self, identity: str = "opportunity-1", price: str = "6000", sequence: int = 1) -> Opportunity:
        books = (USD_MARKET, levels((price, "1"))), (EUR_MARKET, levels(("5618", "1")))
        return opportunity_of(*books, identity=identity, event_time=self.clock.now(), sequence=sequence)

    async def queued(self) -> int:
        """How many wait for a worker."""
        count = 0
        while self.reserver.queue.take() is not None:
            count += 1
        return count


@pytest.fixture
async def bench() -> Bench:
    one = Bench()
    await one.open()
    return one


async def test_both_legs_are_reserved_in_one_step_and_granted_to_the_bots_of_their_exchanges(bench: Bench) -> None:
    await bench.reserver.attempt(bench.opportunity())
    (arbitrage,) = bench.executed
    assert {leg.role: (leg.state, leg.token) for leg in arbitrage.legs} == {
        "buy": ("granted", bench.acting["alpha"].token),
        "sell": ("granted", bench.acting["beta"].token),
    }
    assert bench.decider is not None
    assert {(step.actor, step.token) for step in arbitrage.history} == {(bench.decider.name, bench.decider.token)}
    assert bench.cache.open == {arbitrage.arbitrage_id: arbitrage}
    assert (bench.notes.acted_on, bench.notes.reasons) == ([arbitrage.arbitrage_id], [])


async def test_whoever_does_not_decide_reserves_nothing(bench: Bench) -> None:
    """Its turn may have ended while the opportunity was waiting."""
    bench.decider = None
    await bench.reserver.attempt(bench.opportunity())
    assert (bench.store.asked, bench.notes.reasons) == ([], [])


async def test_of_a_base_that_another_decides_on_it_reserves_nothing(bench: Bench) -> None:
    await bench.reserver.attempt(replace(bench.opportunity(), base="ETH"))
    assert bench.store.asked == []


async def test_a_worker_goes_on_after_it_was_fenced_out_and_after_an_outage(bench: Bench) -> None:
    """That another decides now ends the turn, not the bot, whose exchange has nobody else."""
    worker = asyncio.create_task(bench.reserver.work())
    bench.store.is_away = True
    bench.reserver.consider(bench.opportunity())
    await asyncio.sleep(0.01)
    bench.store.is_away = False
    await bench.clock.sleep(LEASE_SECONDS)
    second = await bench.leased(decision_right(0), "two")
    bench.acting = {name: await bench.leased(name) for name in OPENING}
    bench.reserver.consider(bench.opportunity("opportunity-2"))
    await asyncio.sleep(0.01)
    assert len(bench.store.asked) == 2
    assert await bench.store.session_arbitrages() == []
    bench.decider = second
    bench.reserver.consider(bench.opportunity("opportunity-3"))
    await asyncio.sleep(0.01)
    assert [one.arbitrage_id for one in bench.executed] == ["opportunity-3"]
    assert not worker.done()
    worker.cancel()


async def test_what_is_being_reserved_is_not_reserved_beside_it(bench: Bench) -> None:
    bench.store.may_reserve.clear()
    opportunity = bench.opportunity()
    first = asyncio.create_task(bench.reserver.attempt(opportunity))
    second = asyncio.create_task(bench.reserver.attempt(opportunity))
    await asyncio.sleep(0)
    bench.store.may_reserve.set()
    await asyncio.gather(first, second)
    assert len(bench.store.asked) == 1
    assert bench.reserver.reserving == set()


async def test_how_many_are_under_way_is_told_to_the_rate_limits(bench: Bench) -> None:
    bench.store.may_reserve.clear()
    first = asyncio.create_task(bench.reserver.attempt(bench.opportunity()))
    await asyncio.sleep(0)
    bench.reserver.consider(bench.opportunity("opportunity-2"))
    assert bench.under_way == [0, 1]
    bench.store.may_reserve.set()
    await first


async def test_what_is_expired_is_not_taken(bench: Bench) -> None:
    old = bench.opportunity()
    bench.clock.time = old.expires_at
    bench.reserver.consider(old)
    await bench.reserver.attempt(old)
    assert (bench.store.asked, bench.notes.reasons, await bench.queued()) == ([], [], 0)


async def test_what_nobody_decided_on_in_time_is_recorded_as_that(bench: Bench) -> None:
    old = bench.opportunity()
    bench.clock.time = old.expires_at - 1
    bench.reserver.consider_left(old)
    assert (bench.notes.reasons, await bench.queued()) == ([], 1)
    bench.clock.time = old.expires_at
    bench.reserver.consider_left(old)
    assert (bench.notes.reasons, await bench.queued()) == ([NO_DECIDER], 0)


async def test_the_better_price_goes_before_the_larger_amount_that_one_trade_cannot_use(bench: Bench) -> None:
    """The best levels show ten coins and one, of which a trade of at most 600 takes a tenth."""
    cheap = bench.opportunity("better", "5500")
    large = opportunity_of(
        (replace(USD_MARKET, symbol="BTC/USDX"), levels(("5600", "10"))),
        (EUR_MARKET, levels(("5618", "10"))),
        identity="larger",
        event_time=cheap.event_time,
    )
    bench.reserver.queue.push(replace(large, expected_profit=900.0))
    bench.reserver.queue.push(replace(cheap, expected_profit=200.0))
    first = bench.reserver.queue.take()
    assert first is not None
    assert first.opportunity_id == "better"


async def test_what_a_newer_find_rejects_waits_no_longer(bench: Bench) -> None:
    bench.reserver.consider(bench.opportunity())
    await bench.clock.sleep(0.1)
    bench.left = 0
    bench.reserver.consider(bench.opportunity("opportunity-2"))
    assert (bench.notes.reasons, await bench.queued()) == (["rate_budget"], 0)


async def test_the_better_of_two_is_taken_though_it_came_while_another_was_written(bench: Bench) -> None:
    """A jump opens a dozen gaps within moments, and the rate limits have a place for one."""
    bench.cache.settings = settings_of(max_notional=600, max_open_arbitrages=1)
    worker = asyncio.create_task(bench.reserver.work())
    async with bench.reserver.turns.to_decide():
        bench.reserver.consider(bench.opportunity("first"))
        await asyncio.sleep(0)
        books = (EUR_MARKET, levels(("5300", "1"))), (USD_MARKET, levels(("6000", "1")))
        better = opportunity_of(*books, identity="better", event_time=bench.clock.now() - 1)
        bench.reserver.consider(replace(better, expected_profit=500.0))
        await asyncio.sleep(0)
    for _ in range(20):
        await asyncio.sleep(0)
    assert [one.opportunity.opportunity_id for one in bench.store.asked] == ["better"]
    assert bench.notes.reasons == ["too_many_open"]
    worker.cancel()


async def test_what_a_place_is_worth_is_more_than_it_brings(bench: Bench) -> None:
    """One leg of two is left, and a gap of the last minute would have brought more than this one."""
    bench.cache.place_values = PlaceValues({"alpha": LegPace(at_once=2, a_minute=Fraction(1))})
    wide = replace(bench.opportunity("wide", "5500"), expected_profit=900.0)
    bench.left = 2
    for number, symbol in enumerate(("BTC/USD", "BTC/USDX")):
        other = replace(wide, opportunity_id=f"wide {number}", buy=replace(wide.buy, symbol=symbol))
        bench.cache.see_wanted(other, (2, None), bench.clock.now())
    narrow = bench.opportunity("narrow")
    bench.left = 1
    bench.reserver.consider(narrow)
    assert (bench.notes.reasons, await bench.queued()) == (["outbid"], 0)
    context = rejection_record_of(bench.notes.records[0]).context
    assert context.place_value == tradable_profit(wide, bench.cache.bounds_of(wide))
    again = context.context(narrow, bench.cache.settings)
    assert decide(again, markets_by_symbol(MARKETS)) == Rejected("outbid"), "the decision can be repeated"
    # nothing is used: the place would be left empty otherwise
    bench.left = 2
    bench.reserver.consider(replace(narrow, opportunity_id="narrow again"))
    assert (bench.notes.reasons, await bench.queued()) == (["outbid"], 1)


async def test_with_a_share_of_nothing_the_first_gets_the_place(bench: Bench) -> None:
    bench.cache.settings = settings_of(max_notional=600, place_value_share=0)
    bench.cache.place_values = PlaceValues({"alpha": LegPace(at_once=2, a_minute=Fraction(1))})
    for number in range(3):
        other = bench.opportunity(f"wide {number}", "5500")
        other = replace(other, buy=replace(other.buy, symbol=f"BTC{number}/USD"), expected_profit=900.0)
        bench.cache.see_wanted(other, (2, None), bench.clock.now())
    bench.left = 1
    bench.reserver.consider(bench.opportunity("narrow"))
    assert (bench.notes.reasons, await bench.queued()) == ([], 1)


@pytest.mark.parametrize(("left", "reasons"), [(None, []), (1, []), (0, ["rate_budget"]), (-1, ["rate_budget"])])
async def test_what_the_rate_limits_do_not_allow_is_rejected_at_once(
    bench: Bench, left: int | None, reasons: list[str]
) -> None:
    bench.left = left
    bench.reserver.consider(bench.opportunity())
    assert (bench.notes.reasons, await bench.queued()) == (reasons, 0 if reasons else 1)
    assert all('"legs_left":' in record for record in bench.notes.records), "the decision is verified by it"


async def test_what_it_has_reserved_itself_it_does_not_reject(bench: Bench) -> None:
    opportunity = bench.opportunity()
    await bench.reserver.attempt(opportunity)
    bench.reserver.consider(opportunity)
    assert bench.notes.reasons == []
    bench.reserver.consider(bench.opportunity("opportunity-2"))
    assert bench.notes.reasons == ["pair_busy"]


@pytest.mark.parametrize("exchange", ["alpha", "beta"])
@pytest.mark.parametrize("veto", ["no_bot", "bot_draining", "account_rejected"])
async def test_what_the_store_rejects_is_recorded_with_what_it_read(bench: Bench, exchange: str, veto: Veto) -> None:
    await bench.store.leases.set_veto(bench.acting[exchange], veto)
    await bench.reserver.attempt(bench.opportunity())
    assert (bench.notes.reasons, bench.executed) == ([veto], [])
    read = rejection_record_of(bench.notes.records[0]).read
    assert read is not None
    assert read.leases is not None
    assert read.leases[exchange].veto == veto


async def test_one_that_expires_on_its_way_to_the_store_is_no_rejection(bench: Bench) -> None:
    """By the store's clock, of which it knows how far it is ahead."""
    bench.cache.server_ahead = 7 * MICROSECONDS
    bench.store.may_reserve.clear()
    attempt = asyncio.create_task(bench.reserver.attempt(opportunity := bench.opportunity()))
    await asyncio.sleep(0)
    assert bench.store.asked[0].valid_until == opportunity.expires_at + 7 * MICROSECONDS
    bench.clock.time += 8 * MICROSECONDS
    bench.store.may_reserve.set()
    await attempt
    assert (bench.notes.reasons, bench.executed) == ([], [])


async def test_a_quote_that_is_used_up_is_remembered(bench: Bench) -> None:
    opportunity = bench.opportunity()
    bench.store.liquidity[liquidity_key(opportunity, "sell")] = Decimal(1)
    await bench.reserver.attempt(opportunity)
    assert bench.notes.reasons == ["liquidity_used"]
    assert bench.cache.is_used_up(opportunity)
    bench.reserver.consider(replace(opportunity, opportunity_id="opportunity-2"))
    assert bench.notes.reasons == ["liquidity_used"] * 2
    assert len(bench.store.asked) == 1
    # the quote of the other side stands
    assert not bench.cache.is_used_up(replace(opportunity, sell=replace(opportunity.sell, quote_id="another")))
