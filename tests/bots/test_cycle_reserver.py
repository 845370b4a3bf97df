"""What whoever decides does with a cycle that was found: it reserves all its legs, or says why not, at little cost."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pytest

from bots.decide.cycle_reserver import CycleReserver, worth_of
from bots.decide.state_cache import StateCache
from bots.decide.write_turns import WriteTurns
from bots.execute.cycle_rejection_log import CycleRejectionLog
from market.decide.settings import Settings
from market.prices.cycle_opportunities import CycleOpportunity, CycleOpportunityLeg
from market.prices.opportunities import OpportunityLeg
from market.time_units import MICROSECONDS
from market.trade.cycle_reservations import CycleRequest
from market.trade.cycle_trades import CycleTrade
from market.trade.leases import UNFENCED, Actor, decision_right
from runtime.clock import Clock
from store.errors import StoreUnavailableError
from store.memory.store import MemoryTradeStore
from tests.market.cycle_samples import triangle
from tests.store.conftest import SteppedClock
from tests.store.reservation_requests import ready_bot

CASE = triangle()
CYCLE = CASE.request.cycle
PLENTY = {"USD": Decimal(100_000), "BTC": Decimal(10), "ETH": Decimal(100)}
TURNS = 20


class NotingStore(MemoryTradeStore):
    """Keeps what it was asked to reserve; may be away."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.asked: list[CycleRequest] = []
        self.is_away = False

    async def reserve_cycle(self, request: CycleRequest, by: Actor) -> tuple[CycleTrade | None, str | None]:
        self.asked.append(request)
        if self.is_away:
            raise StoreUnavailableError("away")
        return await super().reserve_cycle(request, by)


@dataclass
class Bench:
    """The store, a bot at the exchange, and whoever decides."""

    clock: SteppedClock = field(default_factory=SteppedClock)
    executed: list[CycleTrade] = field(default_factory=list)
    decider: Actor | None = None
    settings: Settings = CASE.rows.settings

    async def open(self, free: dict[str, Decimal] | None = None) -> None:
        self.store = NotingStore(self.clock)
        await self.store.settings.create(self.settings)
        await self.store.balances.replace("alpha", PLENTY if free is None else free, "before", UNFENCED)
        await ready_bot(self.store, "alpha")
        self.decider = await ready_bot(self.store, decision_right(0))
        self.cache = StateCache(self.settings)
        self.cache.update_balances(await self.store.balances.rows())
        self.turns = WriteTurns(lambda: False)
        self.rejections = CycleRejectionLog()
        self.reserver = CycleReserver(
            store=self.store,
            cycles={CYCLE.cycle_id: CYCLE},
            currency="USD",
            clock=self.clock,
            cache=self.cache,
            execute=self.executed.append,
            actor=lambda: self.decider,
            reject=self.rejections.reject,
            turns=self.turns,
            wall_clock=self.clock.now,
        )
        self.task = asyncio.create_task(self.reserver.work())

    async def see(self, found: CycleOpportunity) -> None:
        self.reserver.consider(found)
        for _ in range(TURNS):
            await asyncio.sleep(0)

    @property
    def refusals(self) -> dict[str, int]:
        """Reason → how many sightings were refused for it."""
        return {one.reason: one.count for one in self.rejections.kept}

    def found(self, identity: str = "one", net_bps: float = 50.0, **changes: object) -> CycleOpportunity:
        """Return a sighting of the triangle, now."""
        now, request = self.clock.now(), CASE.request
        legs = zip(CYCLE.legs, request.levels, request.quotes, strict=True)
        seen = tuple(
            CycleOpportunityLeg(
                leg.side,
                OpportunityLeg(
                    exchange="alpha",
                    symbol=leg.market.symbol,
                    quote_currency=leg.market.quote_currency,
                    price=levels[0].price,
                    amount=levels[0].amount,
                    levels=levels,
                    quote_id=f"{quote}:{identity}",
                    age=0,
                ),
            )
            for leg, levels, quote in legs
        )
        one = CycleOpportunity(identity, CYCLE.cycle_id, seen, 1, net_bps, now, now, now + MICROSECONDS, 1)
        return replace(one, **changes)  # type: ignore[arg-type] # a table


@pytest.fixture
async def bench() -> Bench:
    bench = Bench()
    await bench.open()
    return bench


async def test_all_legs_are_reserved_and_this_bots_go_at_once(bench: Bench) -> None:
    await bench.see(bench.found())
    [trade] = bench.executed
    assert (trade.trade_id, trade.state, [leg.state for leg in trade.legs]) == ("one", "reserved", ["granted"] * 3)
    assert bench.cache.open_cycles == {"one": trade}
    assert bench.cache.open_trade("one") is trade
    assert await bench.store.open_cycles() == [trade]
    # the next sighting of the cycle costs no transaction
    await bench.see(bench.found("two"))
    assert (len(bench.store.asked), bench.refusals) == (1, {"cycle_busy": 1})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"trading_state": "halted"}, "halted"),
        ({"trading_state": "reduce_only"}, "reduce_only"),
        ({"min_net_bps": 51.0}, "below_threshold"),
        ({"disabled_assets": ("ETH",)}, "asset_disabled"),
        ({"cycle_notionals": {"alpha": "0.001"}}, "limit_reached"),
    ],
)
async def test_what_cannot_be_traded_reaches_no_store(bench: Bench, change: dict[str, object], reason: str) -> None:
    bench.cache.settings = Settings.model_validate(bench.settings.model_dump() | change)
    await bench.see(bench.found())
    assert (bench.store.asked, bench.refusals) == ([], {reason: 1})


async def test_limits_and_rate_limits_count_open_pairs_and_cycles_together(bench: Bench) -> None:
    await bench.see(bench.found())
    state = bench.cache.cycle_rows(CYCLE, bench.clock.now())
    assert (state.open_arbitrages, state.notional["base|ETH"]) == (1, bench.executed[0].notional)
    bench.cache.exchange = "alpha"
    bench.cache.legs_left = lambda: 5
    assert bench.cache.left_at("alpha") == 2


async def test_a_refusal_holds_for_what_pays_no_more_until_something_is_traded(bench: Bench) -> None:
    bench.cache.update_balances([])
    await bench.see(bench.found())
    assert bench.refusals == {"insufficient_balance": 1}
    bench.cache.update_balances(await bench.store.balances.rows())
    await bench.see(bench.found("two"))
    assert (bench.store.asked, bench.refusals) == ([], {"insufficient_balance": 2})
    await bench.see(bench.found("more", net_bps=60.0))
    assert [request.trade_id for request in bench.store.asked] == ["more"]


@pytest.mark.parametrize("way", ["traded", "later"])
async def test_what_was_refused_is_asked_again_later(bench: Bench, way: str) -> None:
    bench.cache.update_balances([])
    await bench.see(bench.found())
    bench.cache.update_balances(await bench.store.balances.rows())
    if way == "traded":
        bench.reserver.forget_refusals()
    else:
        bench.clock.time += bench.settings.opportunity_lifetime_ms * 1_000
    await bench.see(bench.found("two"))
    assert [trade.trade_id for trade in bench.executed] == ["two"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"min_net_bps": 51.0}, "below_threshold"), ({"trading_state": "halted"}, "halted")],
)
async def test_what_settings_refuse_is_not_checked_again_before_they_change(
    bench: Bench, change: dict[str, object], reason: str
) -> None:
    bench.cache.settings = Settings.model_validate(bench.settings.model_dump() | change)
    await bench.see(bench.found())
    bench.cache.settings = bench.settings
    await bench.see(bench.found("two"))
    assert (bench.executed, bench.refusals) == ([], {reason: 2})
    bench.reserver.forget_refusals()
    await bench.see(bench.found("three"))
    assert [trade.trade_id for trade in bench.executed] == ["three"]


async def test_what_ends_by_itself_is_checked_each_time(bench: Bench) -> None:
    bench.cache.unexplained = ("alpha",)
    await bench.see(bench.found())
    bench.cache.unexplained = ()
    await bench.see(bench.found("two"))
    assert bench.refusals == {"unexplained_difference": 1}
    assert [trade.trade_id for trade in bench.executed] == ["two"]


async def test_a_cycle_cools_down_no_longer_than_it_must(bench: Bench) -> None:
    bench.cache.settings = bench.settings.model_copy(update={"cool_down_ms": 400, "opportunity_lifetime_ms": 1_000})
    bench.cache.server_ahead = 5 * MICROSECONDS
    bench.cache._cycle_reserved_at[CYCLE.cycle_id] = bench.clock.now() + 5 * MICROSECONDS
    await bench.see(bench.found())
    bench.clock.time += 399_999
    await bench.see(bench.found("two"))
    assert (bench.executed, bench.refusals) == ([], {"cooling_down": 2})
    bench.clock.time += 1
    await bench.see(bench.found("three"))
    assert [request.trade_id for request in bench.store.asked] == ["three"]


async def test_a_newer_sighting_that_is_refused_again_ends_the_wait_of_the_older(bench: Bench) -> None:
    async with bench.turns.to_decide():
        await bench.see(bench.found("better", net_bps=50.0))
        bench.cache.settings = bench.settings.model_copy(update={"min_net_bps": 60.0})
        await bench.see(bench.found("worse", net_bps=40.0))
        bench.cache.settings = bench.settings
        await bench.see(bench.found("best", net_bps=55.0))
        await bench.see(bench.found("worst", net_bps=30.0))
    await bench.see(bench.found("another", cycle_id="another"))
    assert bench.store.asked == []


async def test_what_is_refused_is_stored_with_the_figures_of_the_check(bench: Bench) -> None:
    bench.cache.settings = Settings.model_validate(bench.settings.model_dump() | {"min_net_bps": 51.0})
    await bench.see(bench.found())
    await bench.see(bench.found("two", net_bps=40.0))
    await bench.rejections.write(bench.store, bench.clock.now())
    [one] = bench.store.cycle_rejections.values()
    assert (one.rejection_id, one.value, one.limit, one.unit, one.count) == (
        "one:below_threshold",
        "50",
        "51",
        "bps",
        2,
    )


async def test_the_store_decides_by_rows_that_this_process_does_not_know(bench: Bench) -> None:
    await bench.store.stop_reservations()
    await bench.see(bench.found())
    assert (len(bench.store.asked), bench.executed, bench.refusals) == (1, [], {"stopping": 1})


@pytest.mark.parametrize(
    "left_out",
    [
        lambda bench: bench.found(expires_at=bench.clock.now()),
        lambda bench: bench.found(cycle_id="another"),
    ],
)
async def test_what_is_over_or_not_watched_is_left_out(
    bench: Bench, left_out: Callable[[Bench], CycleOpportunity]
) -> None:
    await bench.see(left_out(bench))
    assert (bench.store.asked, bench.refusals) == ([], {})


async def test_who_does_not_decide_reserves_nothing(bench: Bench) -> None:
    bench.decider = None
    await bench.see(bench.found())
    assert bench.store.asked == []


async def test_a_store_that_is_away_holds_nothing_up(bench: Bench) -> None:
    bench.store.is_away = True
    await bench.see(bench.found())
    assert not bench.reserver.is_reserving
    bench.store.is_away = False
    await bench.see(bench.found("two"))
    assert [trade.trade_id for trade in bench.executed] == ["two"]


async def test_one_decision_at_a_time_with_those_on_pairs_and_the_newest_then(bench: Bench) -> None:
    async with bench.turns.to_decide():
        await bench.see(bench.found())
        await bench.see(bench.found("newer", event_time=bench.clock.now() + 1))
        await bench.see(bench.found("older", event_time=bench.clock.now() - 1))
        assert bench.store.asked == []
    await bench.see(bench.found("newest", event_time=bench.clock.now() + 2))
    assert [request.trade_id for request in bench.store.asked] == ["newest"]


async def test_what_pays_no_more_is_not_traded_at_the_prices_before(bench: Bench) -> None:
    async with bench.turns.to_decide():
        await bench.see(bench.found())
        bench.cache.settings = Settings.model_validate(bench.settings.model_dump() | {"min_net_bps": 30.0})
        await bench.see(bench.found("less", net_bps=20.0, event_time=bench.clock.now() + 1))
    await bench.see(bench.found("another", cycle_id="another"))
    assert (bench.store.asked, bench.refusals) == ([], {"below_threshold": 1})


async def test_a_sighting_is_good_until_it_expires_by_the_stores_clock(bench: Bench) -> None:
    bench.cache.server_ahead = 5 * MICROSECONDS
    await bench.see(bench.found())
    assert bench.store.asked[0].valid_until == bench.clock.now() + 6 * MICROSECONDS


def test_worth_follows_from_the_prices_of_the_cycle() -> None:
    found = Bench().found()
    worth = {"USD": Decimal(1), "BTC": Decimal(40_000), "ETH": Decimal(2_000)}
    assert worth_of(CYCLE, found, "USD") == worth
    # no message says what another currency counts
    assert worth_of(CYCLE, found, "EUR") == {}
