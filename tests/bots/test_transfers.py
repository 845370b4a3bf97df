"""Transfers step by step, with every answer that an exchange may give, and with a process that dies at each call."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Literal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bots.reconcile.balance_snapshots import BalanceSnapshots
from bots.transfers.transfer_maker import FOLLOW_SECONDS, LOOK_SECONDS, TransferMaker
from exchanges.errors import ExchangeError
from exchanges.ports.withdrawals import WithdrawalOrder
from market.accounting.inventory import Values
from market.accounting.transfer_lifecycle import (
    AMBIGUOUS,
    NOT_ASKED,
    REJECTED,
    MoneyTransfer,
    booked_in,
    settled,
)
from market.accounting.transfer_planning import TransferRules
from market.money import ZERO
from market.trade.leases import UNFENCED
from store.errors import StoreUnavailableError
from tests.bots.reconciling_bench import Exchange
from tests.bots.transfer_world import FEE, NAMES, RULES, SESSION, TransferWorld

SOURCE, DESTINATION = NAMES
Answer = Literal["ok", "rejected", "lost", "dropped"]


async def opened(confirmed_by: str = "paper", rules: TransferRules = RULES) -> TransferWorld:
    world = TransferWorld(confirmed_by=confirmed_by, rules=rules)
    await world.open()
    return world


async def until_quiet(world: TransferWorld, *, gives_back: bool = False) -> None:
    """Let minutes pass until nothing is under way."""
    for _ in range(8):
        for name in NAMES:
            await world.round(name)
        await world.network(gives_back=gives_back)
        await world.clock.sleep(30)


async def test_too_much_here_goes_where_it_lacks() -> None:
    world = await opened()
    await until_quiet(world)
    [one] = world.transfers
    assert (one.source, one.destination, one.amount, one.state) == (SOURCE, DESTINATION, Decimal(1), "arrived")
    assert {name: there.balance for name, there in world.exchanges.items()} == {SOURCE: 3, DESTINATION: 3 - FEE}
    for name, there in world.exchanges.items():
        assert await world.booked(name) == (there.balance, ZERO)
    assert booked_in(world.transfers, SESSION) == {(SOURCE, "BTC"): -1, (DESTINATION, "BTC"): 1 - FEE}


async def test_what_is_under_way_is_held_then_nobodys() -> None:
    world = await opened()
    await world.round(SOURCE)
    assert world.state == "proposed"
    world.exchanges[SOURCE].next_answer = "lost"
    await world.round(SOURCE)
    # asked for, not answered, and found in the list at once
    assert world.state == "sent"
    assert await world.booked(SOURCE) == (Decimal(3), Decimal(0))
    assert await world.booked(DESTINATION) == (Decimal(2), Decimal(0))


@pytest.mark.parametrize(
    ("answer", "ends"),
    [("ok", "arrived"), ("rejected", "failed"), ("lost", "arrived"), ("dropped", "failed")],
)
async def test_each_answer_ends_in_one_withdrawal_or_none(answer: Answer, ends: str) -> None:
    world = await opened()
    await world.round(SOURCE)
    world.exchanges[SOURCE].next_answer = answer
    await until_quiet(world)
    first = world.transfers[0]
    assert first.state == ends
    assert world.made().get(first.transfer_id, 0) == (1 if ends == "arrived" else 0)
    for name, there in world.exchanges.items():
        assert sum(await world.booked(name)) == there.balance


async def test_money_that_is_given_back_is_booked_back() -> None:
    world = await opened()
    for _ in range(2):
        await world.round(SOURCE)
    assert await world.booked(SOURCE) == (Decimal(3), Decimal(0))
    await world.network(gives_back=True)
    await world.clock.sleep(FOLLOW_SECONDS)
    await world.round(SOURCE)
    assert world.state == "failed"
    assert world.exchanges[SOURCE].balance == 4
    assert await world.booked(SOURCE) == (Decimal(4), Decimal(0))
    assert booked_in([world.transfers[0]], SESSION) == {}


async def test_a_withdrawal_that_turns_up_late_is_booked() -> None:
    world = await opened()
    await world.round(SOURCE)
    there = world.exchanges[SOURCE]
    there.next_answer, there.lists_nothing = "lost", True
    await world.round(SOURCE)
    assert await world.bots[SOURCE].watch.in_question() == {"BTC"}
    await world.clock.sleep(120)
    await world.round(SOURCE)
    assert world.state == "failed"
    assert await world.booked(SOURCE) == (Decimal(4), Decimal(0))
    there.lists_nothing = False
    await world.bots[SOURCE].watch.settle()
    assert world.state == "sent"
    assert await world.booked(SOURCE) == (Decimal(3), Decimal(0))


async def test_with_money_nothing_is_sent_before_an_operator_confirms() -> None:
    world = await opened(confirmed_by="")
    for _ in range(3):
        await world.round(SOURCE)
    [proposal] = world.transfers
    assert (proposal.state, world.made()) == ("proposed", {})
    await world.store.transfers.confirm(proposal.transfer_id, "ann")
    await until_quiet(world)
    assert world.made() == {proposal.transfer_id: 1}
    assert world.transfers[0].confirmed_by == "ann"


async def test_a_proposal_that_nobody_confirms_makes_room_for_another() -> None:
    world = await opened(confirmed_by="")
    await world.round(SOURCE)
    await world.clock.sleep(3_601)
    await world.round(SOURCE)
    await world.clock.sleep(61)
    await world.round(SOURCE)
    assert [(one.state, one.reason) for one in world.transfers] == [("dropped", "not_confirmed"), ("proposed", "")]


async def test_too_little_is_left_when_it_is_asked_for() -> None:
    world = await opened()
    await world.round(SOURCE)
    rows = world.store.balances.kept
    rows[SOURCE, "BTC"] = replace(rows[SOURCE, "BTC"], free=Decimal("0.5"))
    await world.round(SOURCE)
    assert (world.transfers[0].state, world.transfers[0].reason) == ("dropped", "not_free")
    assert world.made() == {}


async def test_a_credit_is_in_question_until_the_source_has_said_which_it_is() -> None:
    world = await opened()
    for _ in range(2):
        await world.round(SOURCE)
    await world.network()
    there = world.bots[DESTINATION].watch
    assert await there.in_question() == {"BTC"}
    await world.clock.sleep(FOLLOW_SECONDS)
    await world.round(SOURCE)
    assert await there.in_question() == frozenset()
    assert await there.settle() == 1


async def test_what_left_is_what_the_list_says_whatever_was_asked_for() -> None:
    world = await opened()
    for _ in range(2):
        await world.round(SOURCE)
    source = world.exchanges[SOURCE]
    # a fee on top, of which the answer said nothing
    source.withdrawals[0] = replace(source.withdrawals[0], left=Decimal(1) + FEE)
    source.balance -= FEE
    await world.clock.sleep(FOLLOW_SECONDS)
    await world.round(SOURCE)
    assert await world.booked(SOURCE) == (source.balance, ZERO)


async def test_two_that_may_be_it_wait_for_a_person_and_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    world = await opened()
    await world.round(SOURCE)
    source = world.exchanges[SOURCE]
    source.next_answer = "lost"
    await world.round(SOURCE, dies_after=2)
    source.withdrawals.append(replace(source.withdrawals[0], withdrawal_id="another"))
    for _ in range(3):
        await world.round(SOURCE)
    [one] = world.transfers
    assert (one.state, one.reason) == ("unknown", AMBIGUOUS)
    assert [record.levelname for record in caplog.records].count("ERROR") == 1

    def step(known: MoneyTransfer, now: int) -> MoneyTransfer:
        return settled(known, one.amount, one.amount - FEE, now, lambda _: SESSION)

    assert await world.store.transfers.step(one.transfer_id, step, UNFENCED) is not None
    assert await world.booked(SOURCE) == (source.balance, ZERO)
    assert await world.bots[SOURCE].watch.in_question() == frozenset()


async def test_lists_are_asked_for_at_once_while_nobody_has_answered_and_seldom_afterwards() -> None:
    world = await opened()
    await world.round(SOURCE)
    source = world.exchanges[SOURCE]
    source.next_answer, source.lists_nothing, source.listed = "lost", True, 0
    for _ in range(4):
        await world.round(SOURCE)
        await world.clock.sleep(LOOK_SECONDS)
    assert (world.state, source.listed) == ("asked", 4)
    source.lists_nothing = False
    await world.round(SOURCE)
    assert (world.state, source.listed) == ("sent", 5)
    for _ in range(15):
        await world.round(SOURCE)
        await world.clock.sleep(LOOK_SECONDS)
    assert source.listed == 5
    await world.round(SOURCE)
    assert source.listed == 6


async def test_nobody_is_asked_anything_while_nothing_is_sent() -> None:
    world = await opened(rules=replace(RULES, is_on=False))
    await world.round(SOURCE)
    # by then every call would be its last
    await world.clock.sleep(10)
    maker = world.bots[SOURCE]
    await world.round(SOURCE, dies_after=0)
    assert world.bots[SOURCE] is maker


async def test_who_may_not_withdraw_proposes_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    world = await opened()
    await world.round(SOURCE)
    world.exchanges[SOURCE].next_answer = "account"
    for _ in range(10):
        await world.round(SOURCE)
        await world.clock.sleep(60)
    assert [(one.state, one.reason) for one in world.transfers] == [("failed", REJECTED)]
    assert [record.levelname for record in caplog.records].count("ERROR") == 1


async def test_what_was_not_posted_is_not_called_rejected() -> None:
    world = await opened()
    await world.round(SOURCE)
    world.exchanges[SOURCE].next_answer = "spent"
    await world.round(SOURCE)
    assert (world.state, world.transfers[0].reason) == ("failed", NOT_ASKED)


@pytest.mark.parametrize("is_on", [True, False])
async def test_a_confirmed_proposal_that_is_wanted_no_more_says_so(is_on: bool) -> None:
    world = await opened()
    await world.round(SOURCE)
    maker = world.bots[SOURCE]
    if is_on:
        maker.watch.session_id = "next"
    else:
        maker.task = replace(maker.task, rules=replace(RULES, is_on=False))
    await world.round(SOURCE)
    assert (world.transfers[0].state, world.transfers[0].reason) == ("dropped", "not_wanted")


async def test_a_plan_that_failed_is_made_again_at_once() -> None:
    world = await opened()
    maker, values = world.bots[SOURCE], world.bots[SOURCE].values

    async def unavailable() -> Values:
        raise StoreUnavailableError("away")

    maker.values = unavailable
    with pytest.raises(StoreUnavailableError):
        await world.round(SOURCE)
    maker.values = values
    await world.round(SOURCE)
    assert world.state == "proposed"


async def test_the_next_session_opens_once_it_is_known_whether_a_withdrawal_left() -> None:
    world = await opened()
    await world.round(SOURCE)
    there = world.exchanges[SOURCE]
    there.next_answer, there.lists_nothing = "lost", True
    # the step that allows it, and the request, after which the process dies
    await world.round(SOURCE, dies_after=1, is_after=True)
    world.store.balances._before.clear()
    account = Exchange(SOURCE, {"BTC": there.balance})
    snapshots = BalanceSnapshots(world.store, account, UNFENCED, transit=world.bots[SOURCE].watch)
    assert not await snapshots.ensure_opening()
    there.lists_nothing = False
    assert await snapshots.ensure_opening()
    await until_quiet(world)
    assert await world.booked(SOURCE) == (there.balance, ZERO) == (Decimal(3), ZERO)
    assert booked_in(world.transfers, SESSION) == {(DESTINATION, "BTC"): 1 - FEE}


class SendsTwice(TransferMaker):
    """A broken build: what it finds asked for and not answered, it asks for again."""

    async def round(self) -> None:
        for one in await self.watch.known():
            if one.state == "asked" and one.source == self.watch.account.exchange:
                to = self.task.address_of(one.destination, one.currency)
                assert to is not None
                with suppress(ExchangeError):
                    await self.watch.account.withdraw(WithdrawalOrder(one.transfer_id, one.currency, one.amount, to))
        await TransferMaker.round(self)


async def test_a_build_that_sends_twice_is_seen() -> None:
    world = TransferWorld(make=SendsTwice)
    await world.open()
    await world.round(SOURCE)
    # known, the step that allows it, and the request, after which the process dies
    await world.round(SOURCE, dies_after=2, is_after=True)
    await world.round(SOURCE)
    assert list(world.made().values()) == [2]


class AnyMoment(RuleBasedStateMachine):
    """Whenever a process dies, whatever is answered: one withdrawal for one decision, and books that agree."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.world = TransferWorld()

    def teardown(self) -> None:
        self.finish()
        self.loop.close()

    @initialize()
    def begin(self) -> None:
        self.loop.run_until_complete(self.world.open())

    @rule(
        name=st.sampled_from(NAMES),
        dies_after=st.one_of(st.none(), st.integers(0, 7)),
        is_after=st.booleans(),
        seconds=st.sampled_from([0, 10, 100]),
    )
    def round(self, name: str, dies_after: int | None, is_after: bool, seconds: int) -> None:
        async def run() -> None:
            await self.world.round(name, dies_after=dies_after, is_after=is_after)
            await self.world.clock.sleep(seconds)

        self.loop.run_until_complete(run())

    @rule(name=st.sampled_from(NAMES), answer=st.sampled_from(["rejected", "lost", "dropped"]))
    def answer_next(self, name: str, answer: str) -> None:
        self.world.exchanges[name].next_answer = answer

    @rule(name=st.sampled_from(NAMES))
    def lag(self, name: str) -> None:
        self.world.exchanges[name].lists_nothing = not self.world.exchanges[name].lists_nothing

    @rule(gives_back=st.booleans())
    def carry(self, gives_back: bool) -> None:
        self.loop.run_until_complete(self.world.network(gives_back=gives_back))

    @invariant()
    def one_withdrawal_for_one_decision(self) -> None:
        assert all(count == 1 for count in self.world.made().values())

    @invariant()
    def nothing_is_spent_beyond_the_net(self) -> None:
        assert sum(one.cost for one in self.world.transfers if _counts(one)) <= 1_000

    def finish(self) -> None:
        async def run() -> None:
            for there in self.world.exchanges.values():
                there.next_answer, there.lists_nothing = "ok", False
            await until_quiet(self.world)
            await until_quiet(self.world)
            for name, there in self.world.exchanges.items():
                free, held = await self.world.booked(name)
                assert (free + held, held) == (there.balance, ZERO)
            assert not any(one.is_open for one in self.world.transfers)

        if self.world.bots:
            self.loop.run_until_complete(run())


def _counts(one: MoneyTransfer) -> bool:
    return one.is_wanted or one.state == "arrived"


AnyMoment.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestAnyMoment = AnyMoment.TestCase
