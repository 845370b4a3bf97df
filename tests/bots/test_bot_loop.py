"""Two bots on a small market: they trade together, survive anything at any moment, and their books balance."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Literal

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bots.decide.failover import POLL_SECONDS
from market.decide.settings import CloseOrder
from market.money import ZERO
from market.trade.arbitrages import FINAL_STATES, Arbitrage, LegRole, LegState
from market.trade.leases import LEASE_SECONDS, NO_BOT, UNFENCED, decision_right
from market.trade.order_results import result_of
from market.trade.unwinding import NOT_POSTED
from runtime.clock import ReplayClock
from tests.bots.exchange_floor import LONG_SECONDS, WAIT_SECONDS, Book, Floor, Mishaps, until
from tests.bots.hurried_loop import START, LoopClock
from tests.bots.ledger import balances_by_fills
from tests.market.cycle_samples import case_of, report_on, side_of
from tests.market.cycle_samples import settings_of as cycle_settings_of
from tests.market.samples import EUR_MARKET, settings_of
from tests.market.test_cycle_reopening import UNPOSTED

EASY = settings_of(max_notional=2_000, cool_down_ms=0, max_open_arbitrages=20, max_quote_age_ms=86_400_000)


@pytest.fixture
async def floor(tmp_path: Path) -> AsyncIterator[Floor]:
    one = Floor(tmp_path, EASY)
    await one.open()
    yield one
    for exchange in one.desks:
        await one.kill(exchange)


async def ended(floor: Floor, identity: str) -> Arbitrage:
    arbitrage = await until(
        lambda: floor.store.arbitrage(identity), lambda one: one is not None and one.state in FINAL_STATES
    )
    assert arbitrage is not None
    return arbitrage


class LoopReplayClock(ReplayClock):
    """Recorded time by the running loop's."""

    def now(self) -> int:
        return self.at(LoopClock().now())


@pytest.mark.parametrize("speed", [1.0, 50.0])
async def test_a_replay_of_an_old_recording_trades_through(tmp_path: Path, speed: float) -> None:
    """Its fills have recorded times, years before those of their grants."""
    recorded = LoopReplayClock(START - 3 * 365 * 86_400 * 1_000_000, START, speed)
    floor = Floor(tmp_path, EASY, market_clock=recorded)
    await floor.open()
    for amount in ("0.5", "0.7", "0.9"):
        offered = floor.offer(asks=(("6000", amount),), bids=(("5618", amount),))
        arbitrage = await ended(floor, offered.opportunity_id)
        assert (arbitrage.state, arbitrage.reason) == ("closed", None)
    await floor.close()
    await assert_books_balance(floor)


async def assert_books_balance(floor: Floor) -> None:
    """Both sides from different sources; nothing is held any more; nothing was posted twice."""
    before, after = await floor.store.balances.of_session()
    assert balances_by_fills(before, await floor.store.fills()) == after
    for row in await floor.store.balances.rows():
        assert row.held == 0
        assert row.free == after[row.exchange].get(row.currency, ZERO)
    for account in floor.accounts.values():
        assert all(count == 1 for count in account.posts.values())


async def test_both_legs_of_one_opportunity(floor: Floor) -> None:
    arbitrage = await ended(floor, floor.offer().opportunity_id)
    assert arbitrage.state == "closed"
    assert [leg.role for leg in sorted(arbitrage.legs, key=lambda leg: leg.role)] == ["buy", "sell"]
    assert {leg.filled for leg in arbitrage.legs} == {arbitrage.amount}
    assert arbitrage.profit is not None
    assert arbitrage.profit.net > 0
    assert {"event", "detected", "reserved", "sent", "filled", "ended"} <= arbitrage.times.keys()
    await floor.close()
    await assert_books_balance(floor)


async def test_a_raised_threshold_acts_at_once_and_is_taken_back(floor: Floor) -> None:
    raised = await floor.store.settings.change(EASY.model_copy(update={"min_net_bps": 60.0}), 1, "test")
    await asyncio.sleep(0)
    rejected = floor.offer()
    await until(_rejections(floor), lambda reasons: reasons == {("alpha", "below_threshold")})
    assert await floor.store.arbitrage(rejected.opportunity_id) is None
    assert rejected.opportunity_id not in floor.store.opportunities
    await floor.store.settings.change(EASY, raised.version, "test")
    await asyncio.sleep(0)
    assert (await ended(floor, floor.offer().opportunity_id)).state == "closed"


def _rejections(floor: Floor) -> Callable[[], Awaitable[set[tuple[str, str]]]]:
    async def seen() -> set[tuple[str, str]]:
        return {(rejection.exchange, rejection.reason) for rejection in floor.store.rejections.values()}

    return seen


@pytest.mark.parametrize("exchange", ["alpha", "beta"])
async def test_where_no_bot_acts_nothing_is_reserved(floor: Floor, exchange: str) -> None:
    """Whoever decides: if it was the one that is gone, another does once its leases have run out."""
    await floor.kill(exchange)
    await asyncio.sleep(LEASE_SECONDS + POLL_SECONDS)
    opportunity = floor.offer()
    await until(_rejections(floor), lambda reasons: reasons == {("alpha", NO_BOT)})
    assert await floor.store.arbitrage(opportunity.opportunity_id) is None
    await floor.start(exchange)
    # at other prices: the first is over
    assert (await ended(floor, floor.offer((("6001", "0.5"),)).opportunity_id)).state == "closed"
    await floor.close()
    await assert_books_balance(floor)


async def test_a_leg_granted_to_a_bot_that_is_gone_is_never_posted(floor: Floor) -> None:
    """Its lease had not run out yet: the next bot there looks the order up, and what was bought is sold anew."""
    await floor.kill("beta")
    identity = floor.offer().opportunity_id
    await until(lambda: floor.store.arbitrage(identity), _has_bought)
    await floor.start("beta")
    arbitrage = await ended(floor, identity)
    assert arbitrage.state == "closed"
    assert [(leg.role, leg.state) for leg in arbitrage.legs] == [
        ("buy", "done"),
        ("sell", "not_sent"),
        ("complete", "done"),
    ]
    sell, complete = arbitrage.leg("sell"), arbitrage.leg("complete")
    assert sell is not None
    assert complete is not None
    assert floor.accounts["beta"].posts == {complete.client_order_id: 1}
    assert complete.token > sell.token
    await floor.close()
    await assert_books_balance(floor)


def _has_bought(arbitrage: Arbitrage | None) -> bool:
    leg = None if arbitrage is None else arbitrage.leg("buy")
    return leg is not None and leg.state == "done"


async def test_a_bot_that_has_not_heard_of_the_opportunity_posts_its_leg(floor: Floor) -> None:
    opportunity = floor.offer(reported=["alpha"])
    assert (await ended(floor, opportunity.opportunity_id)).state == "closed"


async def test_one_process_decides_for_both_exchanges(floor: Floor) -> None:
    arbitrage = await ended(floor, floor.offer().opportunity_id)
    reserved = [step for step in arbitrage.history if step.what in ("buy granted", "sell granted", "reserved")]
    (decider,) = {(step.actor, step.token, step.at) for step in reserved}
    leases = {lease.exchange: lease for lease in await floor.store.leases.all()}
    right = leases[decision_right(0)]
    assert decider == (right.holder, right.token, arbitrage.times["reserved"])
    assert {leg.exchange: leg.token for leg in arbitrage.legs} == {
        name: leases[name].token for name in ("alpha", "beta")
    }


@pytest.mark.parametrize(
    ("later", "state", "roles"),
    [
        ((("5618", "0.05"), ("5600", "1")), "closed", ["buy", "sell", "complete"]),
        ((("5618", "0.05"),), "unwound", ["buy", "sell", "complete", "reverse"]),
        ((("5000", "1"),), "unwound", ["buy", "sell", "complete", "reverse"]),
    ],
)
async def test_a_book_that_thinned_out_is_completed_else_reversed(
    floor: Floor, later: Book, state: str, roles: list[str]
) -> None:
    opportunity = floor.offer()
    floor.show(EUR_MARKET, later, (("5700", "1"),))
    arbitrage = await ended(floor, opportunity.opportunity_id)
    assert arbitrage.state == state
    assert {leg.role for leg in arbitrage.legs} == set(roles)
    await floor.close()
    await assert_books_balance(floor)


async def test_an_unwinding_order_without_room_waits_and_is_sent_once_there_is_some(floor: Floor) -> None:
    for account in floor.accounts.values():
        account.room = 1
    opportunity = floor.offer()
    floor.show(EUR_MARKET, (("5618", "0.05"),), (("5700", "1"),))
    held = await ended(floor, opportunity.opportunity_id)
    assert (held.state, held.reason) == ("residual", NOT_POSTED)
    for account in floor.accounts.values():
        account.room = None
    arbitrage = await until(
        lambda: floor.store.arbitrage(opportunity.opportunity_id),
        lambda one: one is not None and one.state == "unwound",
    )
    assert arbitrage is not None
    assert [leg.role for leg in arbitrage.legs if leg.reason is None] == ["buy", "sell", "flatten"]
    await floor.close()
    await assert_books_balance(floor)


@pytest.mark.parametrize(("exchange", "is_resumed"), [("alpha", True), ("beta", False)])
async def test_a_cycle_goes_on_where_its_unwinding_order_could_be_sent(
    tmp_path: Path, exchange: str, is_resumed: bool
) -> None:
    """Beta did not post its leg, which is over: what is left to do is to sell the BTC back on alpha."""
    sides = [
        side_of("buy", "BTC/USD", "40000", "0.5"),
        side_of("buy", "ETH/BTC", "0.05", "20", "beta"),
        side_of("sell", "ETH/USD", "2020", "6"),
    ]
    case = case_of(sides, cycle_settings_of(single_leg_policy="reverse"))
    floor = Floor(tmp_path, case.rows.settings)
    store = floor.store
    await store.settings.create(case.rows.settings)
    for name in ("alpha", "beta"):
        await store.balances.replace(name, dict.fromkeys(("USD", "BTC", "ETH"), Decimal(1_000_000)), "now", UNFENCED)
    trade, _ = await store.reserve_cycle(case.request, UNFENCED)
    for role in ("leg1", "leg2", "leg3", "reverse1"):
        order = None if trade is None else trade.order(role)
        assert order is not None
        report = report_on(order, order.amount) if role == "leg1" else UNPOSTED
        await store.report_order(result_of("found", order.leg, report), UNFENCED)
        trade = await store.book_cycle("found", UNFENCED)
    assert trade is not None
    assert (trade.state, trade.reason) == ("residual", NOT_POSTED)
    await floor.start(exchange)
    await asyncio.sleep(1)
    await floor.kill(exchange)
    trade = await store.cycle_trade("found")
    assert trade is not None
    assert any(step.reason == "resumed" for step in trade.history) == is_resumed


async def test_many_opportunities_at_once_are_traded_one_after_the_other(floor: Floor) -> None:
    """Both books show half a coin per quote: whatever is traded, no depth is used twice."""
    offers = [floor.offer().opportunity_id for _ in range(30)]
    states = await until(floor.store.session_arbitrages, lambda ones: bool(ones) and all(_is_over(one) for one in ones))
    assert "closed" in {one.state for one in states}
    assert {one.arbitrage_id for one in states} <= set(offers)
    await floor.close()
    await assert_books_balance(floor)


def _is_over(arbitrage: Arbitrage) -> bool:
    return arbitrage.state in FINAL_STATES


async def test_after_the_stop_nothing_begins(floor: Floor) -> None:
    await floor.store.stop_reservations()
    await until(floor.store.balances.of_session, lambda balances: len(balances[1]) == 2)
    opportunity = floor.offer()
    await until(_rejections(floor), lambda reasons: reasons == {("alpha", "stopping")})
    assert await floor.store.arbitrage(opportunity.opportunity_id) is None


@pytest.mark.parametrize(("stuck", "sent"), [("before", "not_sent"), ("after", "done")])
async def test_what_a_dead_bot_sent_is_looked_up_never_sent_again(
    tmp_path: Path, stuck: Literal["before", "after"], sent: LegState
) -> None:
    floor = Floor(tmp_path, EASY)
    await floor.open()
    floor.accounts["alpha"].stuck = stuck
    identity = floor.offer().opportunity_id
    async with asyncio.timeout(WAIT_SECONDS):
        await floor.accounts["alpha"].reached.wait()
    assert _is_granted(await floor.store.arbitrage(identity), "buy")
    await floor.kill("alpha")
    floor.accounts["alpha"].stuck = None
    await floor.start("alpha")
    arbitrage = await ended(floor, identity)
    leg = arbitrage.leg("buy")
    assert leg is not None
    assert leg.state == sent
    assert arbitrage.state == "closed"
    await floor.close()
    await assert_books_balance(floor)


def _is_granted(arbitrage: Arbitrage | None, role: LegRole) -> bool:
    leg = None if arbitrage is None else arbitrage.leg(role)
    return leg is not None and leg.state == "granted"


kills = st.lists(st.tuples(st.sampled_from(["alpha", "beta"]), st.integers(0, 60)), max_size=8)


@pytest.mark.parametrize("policy", ["complete", "reverse", "hold"])
@hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.0, 0.1, 0.3]), deaths=kills)
async def test_any_death_at_any_moment(
    tmp_path_factory: pytest.TempPathFactory, policy: str, seed: int, share: float, deaths: list[tuple[str, int]]
) -> None:
    """Bots die at any await and start again, orders and answers get lost, books thin out: nothing is posted twice,
    everything ends, and before + fills − fees = after."""
    random = Random(seed)
    settings = EASY.model_copy(update={"single_leg_policy": policy})
    floor = Floor(tmp_path_factory.mktemp("floor"), settings, Mishaps(random, share))
    await floor.open()
    for exchange, turns in [*deaths, ("alpha", 5)]:
        for _ in range(3):
            floor.offer()
            if random.random() < 0.3:
                floor.show(EUR_MARKET, (("5618", "0.05"),), (("5700", "1"),))
            for _ in range(turns):
                await asyncio.sleep(0)
        await floor.kill(exchange)
        await floor.start(exchange)
    await until(floor.store.session_arbitrages, lambda ones: all(_is_over(one) for one in ones), LONG_SECONDS)
    await floor.close()
    await assert_books_balance(floor)
    for arbitrage in await floor.store.session_arbitrages():
        if arbitrage.state == "closed":
            bought = sum(leg.filled for leg in arbitrage.legs if leg.side == "buy")
            assert bought == sum(leg.filled for leg in arbitrage.legs if leg.side == "sell")


async def test_what_is_left_of_an_arbitrage_is_closed_by_an_operators_order_once(floor: Floor) -> None:
    held_settings = EASY.model_copy(update={"single_leg_policy": "hold"})
    held_version = await floor.store.settings.change(held_settings, 1, "test")
    await asyncio.sleep(0)
    opportunity = floor.offer()
    floor.show(EUR_MARKET, (("5618", "0.05"),), (("5700", "1"),))
    held = await ended(floor, opportunity.opportunity_id)
    assert (held.state, held.reason) == ("residual", "single_leg_left")
    order = CloseOrder(price=held.opportunity.buy.price, asked_at=floor.clock.now())
    ordered = held_version.model_copy(update={"close_now": {"unknown": order, opportunity.opportunity_id: order}})
    await floor.store.settings.change(ordered, held_version.version, "operator")
    closed = await until(
        lambda: floor.store.arbitrage(opportunity.opportunity_id),
        lambda one: one is not None and one.state == "unwound",
    )
    assert closed is not None
    assert [leg.role for leg in closed.legs] == ["buy", "sell", "flatten"]
    assert sum(account.posts.total() for account in floor.accounts.values()) == 3
    await floor.close()
    await assert_books_balance(floor)
