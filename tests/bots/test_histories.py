"""Two bots with a standby each, over any history of interleavings, deaths, lost answers and late orders."""

import re
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import ClassVar, get_args

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from bots.loop import BotLoop
from market.decide.kill_switch import TradingState
from market.instruments.markets import Market
from market.trade.arbitrages import Transition
from market.trade.unwinding import UNCONFIRMED
from store.memory.store import MemoryTradeStore
from tests.bots.histories.audit import judged
from tests.bots.histories.broken_stores import (
    AssumesNotSent,
    BooksTwice,
    ForgetsALeg,
    IgnoresVetoes,
    LetsAnybodyAct,
    LetsTwoDecide,
    PostsAgain,
    PostsForAnyToken,
    PostsLate,
    RestatesNothing,
    SendsBeforeProceeds,
)
from tests.bots.histories.exchange_model import ExchangeModel, Lie, Treatment
from tests.bots.histories.legality import given_up_too_early
from tests.bots.histories.world import BITFLYER_MARKET, SETTINGS, Blow, Store, Strike, World, cycles_with
from tests.market.samples import EUR_MARKET, USD_MARKET, arbitrage_of, levels, opportunity_of, order_leg

QUICK = 20
SLOW = 150
SOAK = 10_000
MOST_OF_A_MUTANT = 10_000
"""The rarest is found within some hundred; so far from that, chance does not fail a run."""
STEPS = 30
MOST_PROCESSES = 3
"""Alive at one exchange."""
SECOND = 1_000_000

exchanges = st.sampled_from([0, 1])
"""The first or the second."""
orders = st.none() | st.integers(0, 2**16)
"""None: oldest step first; else the order that this seed gives."""
blows: st.SearchStrategy[Blow] = st.sampled_from(
    ["crash", "crash_after", "pause", "pause_after", "failed", "held", "hang", "end"]
)
calls = st.sampled_from(
    [
        "account.place",
        "account.look_up",
        "account.balances",
        "account.",
        "store.reserve",
        "store.grant",
        "store.report_order",
        "store.book",
        "store.balances.replace",
        "lease",
        "leases.set_veto",
        "store.",
    ]
)
waits = st.sampled_from([0, 0, SECOND // 10, 3 * SECOND, 8 * SECOND, 20 * SECOND])
treatments = st.builds(
    Treatment,
    outcome=st.sampled_from(["taken", "taken", "taken", "taken", "rejected", "lost", "account_rejected"]),
    share=st.sampled_from([Decimal(1), Decimal("0.4"), Decimal(0)]),
    acknowledged=st.booleans(),
    arrives_after=waits,
    shown_after=waits,
    ends_after=waits,
    fills_listed=st.integers(1, 2),
    lie=st.sampled_from([None, None, None, *get_args(Lie)]),
)
states: st.SearchStrategy[TradingState] = st.sampled_from(["running", "running", "reduce_only", "halted"])


class Histories(RuleBasedStateMachine):
    """What may happen to the bots, in any order. `teardown` heals everything and judges."""

    make_store: ClassVar[Store] = MemoryTradeStore
    make_exchange: ClassVar[type[ExchangeModel]] = ExchangeModel
    make_bot: ClassVar[type[BotLoop]] = BotLoop

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.world.close()

    @initialize(second=st.sampled_from([EUR_MARKET, BITFLYER_MARKET]))
    def found(self, second: Market) -> None:
        """Both exchanges have their bot and its standby."""
        self.world = World(second, make_store=self.make_store, make_exchange=self.make_exchange, make_bot=self.make_bot)
        for exchange in (*self.world.names, *self.world.names):
            self.world.start(exchange)
        self.world.run(0.5)

    @rule(
        is_first=st.booleans(),
        amount=st.sampled_from(["0.3", "0.1"]),
        seconds=st.sampled_from([0, 0.01, 0.1, 1, 3]),
        order=orders,
    )
    def an_opportunity(self, is_first: bool, amount: str, seconds: float, order: int | None) -> None:
        self.world.offer(is_first, amount)
        self._run(seconds, order)

    @rule(seconds=st.sampled_from([0.01, 0.1, 0.5, 2, 6]), order=orders)
    def some_time(self, seconds: float, order: int | None) -> None:
        self._run(seconds, order)

    @rule(seconds=st.sampled_from([0.1, 1, 4]))
    def nobody_gets_on(self, seconds: float) -> None:
        self.world.let_pass(seconds)

    @rule(exchange=exchanges, what=calls, blow=blows)
    def a_blow(self, exchange: int, what: str, blow: Blow) -> None:
        """Strike the next such call."""
        self.world.strikes.append(Strike(self.world.names[exchange], what, False, blow))

    @rule(exchange=exchanges, treatment=treatments)
    def an_order_goes_its_own_way(self, exchange: int, treatment: Treatment) -> None:
        self.world.exchanges[self.world.names[exchange]].treatments.append(treatment)

    @rule(exchange=exchanges, seconds=st.sampled_from([-20, -0.9, -0.4, 0, 0.4, 0.9, 20]))
    def an_exchanges_clock_is_off(self, exchange: int, seconds: float) -> None:
        self.world.exchanges[self.world.names[exchange]].ahead = round(seconds * SECOND)

    @rule(seconds=st.sampled_from([0.4, 3, 20]))
    def the_stores_clock_is_set_forward(self, seconds: float) -> None:
        self.world.set_store_clock_forward(round(seconds * SECOND))

    @rule(exchange=exchanges)
    def another_process(self, exchange: int) -> None:
        name = self.world.names[exchange]
        if len(self.world.alive(name)) < MOST_PROCESSES:
            self.world.start(name)

    @rule(exchange=exchanges, seconds=st.sampled_from([0.5, 2, 4]), order=orders)
    def the_first_process_sleeps(self, exchange: int, seconds: float, order: int | None) -> None:
        """Maybe for longer than its lease lasts; there is something to trade before and when it wakes."""
        for process in self.world.alive(self.world.names[exchange])[:1]:
            process.is_paused = True
            self._run(seconds, order)
            self.world.offer(amount="0.1")
            self._run(0.5, order)
            self.world.offer(False, "0.1")
            process.wake()
            self._run(0.5, order)

    @rule(exchange=exchanges, seconds=st.sampled_from([0, 0.5, 4]), order=orders)
    def the_first_process_is_asked_to_go(self, exchange: int, seconds: float, order: int | None) -> None:
        for process in self.world.alive(self.world.names[exchange])[:1]:
            process.ask_to_go()
            self._run(seconds, order)

    @rule()
    def sleepers_wake(self) -> None:
        for process in self.world.alive():
            process.wake()

    @rule()
    def answers_come_late(self) -> None:
        for process in self.world.alive():
            process.hanging.clear()

    @rule(policy=st.sampled_from(["complete", "reverse", "hold"]))
    def another_policy(self, policy: str) -> None:
        self.world.change_settings({"single_leg_policy": policy})

    @rule(state=states)
    def another_state(self, state: TradingState) -> None:
        self.world.change_settings({"trading_state": state})

    def teardown(self) -> None:
        found = judged(self.world)
        assert not found, "\n".join(found)

    def _run(self, seconds: float, order: int | None) -> None:
        self.world.run(seconds, None if order is None else Random(order))


class CycleHistories(Histories):
    """The same with trades on two cycles, within the first exchange and over both."""

    @initialize(second=st.sampled_from([EUR_MARKET, BITFLYER_MARKET]))
    def found(self, second: Market) -> None:
        self.world = World(
            second,
            make_store=self.make_store,
            make_exchange=self.make_exchange,
            make_bot=self.make_bot,
            watched=cycles_with(second),
        )
        for exchange in (*self.world.names, *self.world.names):
            self.world.start(exchange)
        self.world.run(0.5)

    @rule(
        place=st.sampled_from([0, 1]),
        amount=st.sampled_from(["20", "4", "1"]),
        seconds=st.sampled_from([0, 0.01, 0.1, 1, 3]),
        order=orders,
    )
    def a_cycle(self, place: int, amount: str, seconds: float, order: int | None) -> None:
        self.world.offer_cycle(place, amount)
        self._run(seconds, order)


def histories(count: int, *, is_mutant: bool = False) -> settings:
    """Whether they are the same each time is the loaded profile's to say; a mutant's are not shrunk."""
    phases = (Phase.generate,) if is_mutant else (Phase.generate, Phase.shrink)
    return settings(
        max_examples=count,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )


def test_what_a_bot_that_was_told_to_go_closed_with_is_not_booked_again() -> None:
    """Its closing balances had an order in them that was denied, and is found once a bot is there again."""
    history = Histories()
    history.found(second=EUR_MARKET)
    history.an_order_goes_its_own_way(exchange=0, treatment=Treatment(acknowledged=False, shown_after=8 * SECOND))
    history.the_first_process_sleeps(exchange=0, order=None, seconds=0.5)
    history.the_first_process_sleeps(exchange=1, order=None, seconds=4)
    history.the_first_process_is_asked_to_go(exchange=0, order=None, seconds=0)
    history.teardown()


@pytest.mark.parametrize(
    "count", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow), pytest.param(SOAK, marks=pytest.mark.soak)]
)
def test_every_history_ends_well(count: int) -> None:
    run_state_machine_as_test(Histories, settings=histories(count))


@pytest.mark.parametrize("place", [0, 1])
def test_a_cycle_closes_where_nothing_goes_wrong(place: int) -> None:
    world = World(watched=cycles_with(EUR_MARKET))
    for exchange in world.names:
        world.start(exchange)
    world.run(1)
    world.offer_cycle(place)
    world.run(2)
    [trade] = world.cycles()
    assert (trade.state, trade.reason) == ("closed", None)
    assert [order.waits for order in trade.orders] == [False, False, place == 0]
    assert trade.profit is not None
    assert trade.profit.net > 0
    assert judged(world) == []


@pytest.mark.parametrize(
    "count", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow), pytest.param(SOAK, marks=pytest.mark.soak)]
)
def test_every_history_with_cycles_ends_well(count: int) -> None:
    run_state_machine_as_test(CycleHistories, settings=histories(count))


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        # by far the rarest: minutes, where the others take seconds
        pytest.param(LetsAnybodyAct, " took the step | in our books, |, its row ", marks=pytest.mark.soak),
        (LetsTwoDecide, "not the newest|took the step"),
        (PostsAgain, "sent 2 times"),
        (AssumesNotSent, "counted as not sent after denials"),
        # rarer: some hundred histories each
        pytest.param(IgnoresVetoes, "in spite of the veto", marks=pytest.mark.slow),
        # which sight comes first depends on what was booked twice, and on who corrects its row
        pytest.param(BooksTwice, "legs have|executed Fill|in our books|, its row ", marks=pytest.mark.slow),
        # either the post itself is seen, or that nobody booked what it executed
        pytest.param(PostsForAnyToken, "posted by|executed Fill", marks=pytest.mark.slow),
        pytest.param(PostsLate, "microseconds after its grant", marks=pytest.mark.slow),
        pytest.param(RestatesNothing, "executed Fill", marks=pytest.mark.slow),
    ],
)
def test_whatever_lacks_one_rule_is_found_out(broken: Store | type[BotLoop], found: str) -> None:
    """The histories can fail: each rule that they are about is missed if it is not there."""
    found_out(Histories, broken, found)


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        (PostsAgain, "sent 2 times"),
        (ForgetsALeg, "has no order"),
        (SendsBeforeProceeds, "had ended|leg reserved → done"),
        (AssumesNotSent, "counted as not sent after denials"),
    ],
)
def test_whatever_lacks_a_rule_of_cycles_is_found_out(broken: Store | type[BotLoop], found: str) -> None:
    found_out(CycleHistories, broken, found)


def found_out(histories_of: type[Histories], broken: Store | type[BotLoop], found: str) -> None:
    """Assert that histories with this store or bot fail so."""

    class Broken(histories_of):  # type: ignore[misc, valid-type] # a class that is given
        pass

    if issubclass(broken, BotLoop):
        Broken.make_bot = broken
    else:
        Broken.make_store = broken
    with pytest.raises(AssertionError) as failure:
        run_state_machine_as_test(Broken, settings=histories(MOST_OF_A_MUTANT, is_mutant=True))
    assert re.search(found, str(failure.value))


@pytest.mark.parametrize(
    ("unresolved", "order_id", "is_excused"),
    [("order_not_final", "order", True), ("ambiguous_order", None, True), (None, "order", True), (None, None, False)],
)
def test_an_order_in_doubt_excuses_no_other_leg(unresolved: str | None, order_id: str | None, is_excused: bool) -> None:
    """The sell was given up without a denial; the buy was, too, or was found and never became final."""
    one, hundred = Decimal(1), Decimal(100)
    buy, sell = (
        replace(leg, state="not_sent", times={"unconfirmed": 5})
        for leg in (order_leg(USD_MARKET, "buy", one, hundred), order_leg(EUR_MARKET, "sell", one, hundred))
    )
    of = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("101", "1"))))
    doubted = replace(buy, unresolved=unresolved, exchange_order_id=order_id)
    history = (Transition("residual", 5, "bot", 0, unresolved or "order_not_final"),)
    wrong = list(given_up_too_early(replace(arbitrage_of(of, doubted, sell), history=history), World()))
    roles = ["sell"] if is_excused else ["buy", "sell"]
    assert wrong == [f"{role} counted as not sent after denials at []" for role in roles]


class SearchedFromTheIntent(ExchangeModel):
    """Without a margin for clocks that are off."""

    margin = 0


@pytest.mark.parametrize("seconds", [-20, -0.9, -0.4, 0.4, 20])
@pytest.mark.parametrize("policy", ["complete", "reverse"])
def test_a_lost_acknowledgement_under_a_clock_that_is_off_is_one_order(seconds: float, policy: str) -> None:
    """On an exchange without client ids: found by a search with a margin, so that the arbitrage closes."""
    world = World(BITFLYER_MARKET, SETTINGS.model_copy(update={"single_leg_policy": policy}))
    lose_an_acknowledgement(world, seconds)
    assert judged(world) == []
    assert [one.state for one in world.arbitrages()] == ["closed"]
    assert sum(world.exchanges["bitflyer"].posts.values()) == 1


@pytest.mark.parametrize("policy", ["complete", "reverse"])
def test_where_the_search_misses_it_nothing_is_sent_in_its_place(policy: str) -> None:
    """The balances show that it filled: the arbitrage is held, and a person is told."""
    settings = SETTINGS.model_copy(update={"single_leg_policy": policy})
    world = World(BITFLYER_MARKET, settings, make_exchange=SearchedFromTheIntent)
    lose_an_acknowledgement(world, -0.4)
    world.run(60)
    assert [(one.state, one.reason) for one in world.arbitrages()] == [("residual", UNCONFIRMED)]
    assert {name: sum(one.posts.values()) for name, one in world.exchanges.items()} == {"alpha": 1, "bitflyer": 1}
    kinds = {one.kind for one in world.ask(world.store.differences.stored())}
    assert {"order_unconfirmed", "fill_foreign", "balance_unexplained"} <= kinds
    assert "balance_differs" not in kinds
    assert judged(world) != []


def lose_an_acknowledgement(world: World, seconds: float) -> None:
    """On bitflyer, whose clock is so much off; long enough for whatever follows from that."""
    for exchange in world.names:
        world.start(exchange)
    world.run(1)
    bitflyer = world.exchanges["bitflyer"]
    bitflyer.ahead = round(seconds * SECOND)
    bitflyer.treatments.append(Treatment(acknowledged=False))
    world.offer()
    world.run(10)


@pytest.mark.parametrize(("lie", "share"), [("double", "0.4"), ("half", "1"), ("better", "1"), ("better", "0.4")])
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("exchange", ["alpha", "beta"])
def test_a_lie_that_its_order_allows_is_taken_back(lie: Lie, share: str, is_first: bool, exchange: str) -> None:
    """It is booked, until the exchange's own list and its balances were seen to say otherwise."""
    world = World()
    for name in world.names:
        world.start(name)
    world.run(1)
    world.exchanges[exchange].treatments.append(Treatment(share=Decimal(share), lie=lie))
    world.offer(is_first)
    world.run(0.5)
    true = {fill for one in world.exchanges.values() for fill in one.fills}
    assert not {fill for fill in world.ledger() if fill.exchange == exchange} <= true
    world.run(4)
    assert {(one.kind, one.handled) for one in world.ask(world.store.differences.stored())} == {
        ("fill_restated", "healed")
    }
    assert judged(world) == []


@pytest.mark.parametrize("dies_at", [6.0, 7.2, 9.0])
def test_a_late_order_counts_once_whenever_its_bot_begins_again(dies_at: float) -> None:
    """Found by a history: the balances that a new bot read had the order in them before it was found and booked."""
    world = World()
    for exchange in world.names:
        world.start(exchange)
    world.run(1)
    world.exchanges["alpha"].treatments.append(Treatment(arrives_after=8 * SECOND))
    world.offer()
    world.run(dies_at)
    world.alive("alpha")[0].die()
    world.start("alpha")
    world.run(5)
    assert judged(world) == []
    (arbitrage,) = world.arbitrages()
    flattening = arbitrage.leg("flatten")
    assert (arbitrage.state, arbitrage.reason) == ("unwound", "reversed")
    assert flattening is not None
    assert flattening.filled == arbitrage.amount


def test_balances_wait_for_an_acknowledged_order_that_the_exchange_denies() -> None:
    """Found by a history: they had the order in them, were adopted, and had it twice when it was found."""
    world = World(BITFLYER_MARKET)
    for exchange in world.names:
        world.start(exchange)
    world.run(1)
    bitflyer = world.exchanges["bitflyer"]
    bitflyer.treatments.append(Treatment(shown_after=20 * SECOND, ends_after=SECOND // 10))
    world.offer(False)
    world.run(12)
    bitflyer.treatments.append(Treatment(outcome="lost"))
    world.offer()
    world.run(6)
    assert "balance_differs" not in {one.kind for one in world.ask(world.store.differences.stored())}
    assert judged(world) == []
    assert "balance_unexplained" not in {one.kind for one in world.ask(world.store.differences.stored())}


def test_like_orders_of_which_no_word_came_back_are_left_to_a_person() -> None:
    """Found by a history: on an exchange without client ids an order that counted as not sent arrives when its like
    shows up; which is whose nobody can say, and nothing more is traded on a guess."""
    world = World(BITFLYER_MARKET, SETTINGS.model_copy(update={"single_leg_policy": "reverse"}))
    bitflyer = world.exchanges["bitflyer"]
    for exchange in world.names:
        world.start(exchange)
    world.run(1)
    bitflyer.treatments.append(Treatment(arrives_after=8 * SECOND))
    world.offer()
    world.run(7.8)
    bitflyer.treatments.append(Treatment(acknowledged=False, shown_after=SECOND // 5))
    world.offer()
    world.run(0.4)
    assert judged(world) == []
    kinds = {(one.kind, one.handled) for one in world.ask(world.store.differences.stored())}
    assert ("order_ambiguous", "reported") in kinds
    assert ("residual", "ambiguous_order") in {(one.state, one.reason) for one in world.arbitrages()}
