"""Balances while money is on its way: what left or arrived is no difference; openings and closings have it whole."""

from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

import pytest

from bots.reconcile.balance_snapshots import BalanceSnapshots
from bots.reconcile.reconciler import Reconciliation
from market.accounting.rebalancing import Transfer
from market.accounting.transfer_lifecycle import (
    Deposit,
    MoneyTransfer,
    Withdrawal,
    proposed,
    with_deposit,
    with_withdrawal,
)
from market.money import ZERO
from market.trade.leases import UNFENCED
from market.trade.reservation_state import BalanceRow
from tests.bots.reconciling_bench import Bench, opened_bench

AWAY = Transfer("USD", "alpha", "beta", Decimal(500), Decimal(1), Decimal(1), 600)
HITHER = Transfer("USD", "beta", "alpha", Decimal(500), Decimal(1), Decimal(1), 600)
ARRIVES = HITHER.arrives


@dataclass
class Transit:
    """Knows what the test says of one transfer."""

    bench: Bench
    transfer: MoneyTransfer
    is_in_question: bool = False
    credited: list[Deposit] = field(default_factory=list)
    sessions: list[str | None] = field(default_factory=list)

    async def settle(self, session_id: str | None = None) -> int:
        self.sessions.append(session_id)
        booked = 0
        for one in self.credited:
            after = await self.bench.store.transfers.step(
                self.transfer.transfer_id,
                partial(_arrived, one, "session" if session_id is None else ""),
                UNFENCED,
            )
            booked += after is not None
        return booked

    async def in_question(self) -> frozenset[str]:
        return frozenset({"USD"}) if self.is_in_question else frozenset()


def _arrived(deposit: Deposit, session_id: str, known: MoneyTransfer, now: int) -> MoneyTransfer:
    return with_deposit(known, deposit, now, session_id)


async def under_way(bench: Bench, plan: Transfer, *, has_left: bool) -> MoneyTransfer:
    transfer = proposed(plan, "session", bench.clock.now(), "paper")
    assert await bench.store.transfers.propose(transfer, Decimal(100), UNFENCED) is None
    if plan.source == "beta":
        # beta has no dollars of its own in this world
        bench.store.balances.kept["beta", "USD"] = BalanceRow("beta", "USD", Decimal(1_000), ZERO)
    asked = await bench.store.transfers.ask(transfer.transfer_id, UNFENCED)
    assert asked is not None
    if not has_left:
        return asked
    left = Withdrawal("W1", "USD", plan.amount, "done", 0, network_id="tx1")
    sent = await bench.store.transfers.step(
        transfer.transfer_id, lambda known, now: with_withdrawal(known, left, now, "session"), UNFENCED
    )
    assert sent is not None
    return sent


@pytest.fixture
async def bench() -> Bench:
    return await opened_bench()


def process(bench: Bench, transit: Transit) -> Reconciliation:
    made = bench.process()
    made.transit = transit
    return made


@pytest.mark.parametrize("has_left", [True, False])
async def test_nobody_knows_whether_it_left_so_it_is_not_compared(bench: Bench, has_left: bool) -> None:
    transit = Transit(bench, await under_way(bench, AWAY, has_left=False), is_in_question=True)
    bench.exchange.owned["USD"] -= AWAY.amount if has_left else 0
    assert await bench.rounds(process(bench, transit), 4) == []
    assert (await bench.row()).held == AWAY.amount


async def test_what_left_is_no_difference_and_what_else_is_missing_is(bench: Bench) -> None:
    transit = Transit(bench, await under_way(bench, AWAY, has_left=True))
    bench.exchange.owned["USD"] -= AWAY.amount
    assert await bench.rounds(process(bench, transit), 4) == []
    bench.exchange.owned["USD"] -= 100
    assert await bench.rounds(process(bench, transit), 2) == ["balance_unexplained"]


async def test_what_arrives_while_the_exchange_is_asked_is_no_difference(bench: Bench) -> None:
    transit = Transit(bench, await under_way(bench, HITHER, has_left=True))

    async def arrives() -> None:
        bench.exchange.owned["USD"] += ARRIVES
        transit.credited.append(Deposit("D1", "USD", ARRIVES, "credited", "tx1"))

    bench.exchange.then["balances"] = arrives
    assert await bench.rounds(process(bench, transit), 4) == []
    assert (await bench.row()).free == bench.exchange.owned["USD"]


async def test_an_opening_has_what_arrived_before_it_once(bench: Bench) -> None:
    sent = await under_way(bench, HITHER, has_left=True)
    transit = Transit(bench, sent)
    bench.store.balances._before.clear()
    snapshots = BalanceSnapshots(bench.store, bench.exchange, by=UNFENCED, transit=transit)

    async def arrives() -> None:
        bench.exchange.owned["USD"] += ARRIVES
        transit.credited.append(Deposit("D1", "USD", ARRIVES, "credited", "tx1"))

    bench.exchange.then["balances"] = arrives
    # it arrived while they were read: whether it is in them nobody knows
    assert not await snapshots.ensure_opening()
    assert await snapshots.ensure_opening()
    before, _ = await bench.store.balances.of_session()
    assert before["alpha"]["USD"] == bench.exchange.owned["USD"]
    assert (await bench.row()).free == bench.exchange.owned["USD"]
    # in no session's books: the opening has it
    assert set(transit.sessions) == {""}
    [arrived] = await bench.store.transfers.known(0)
    assert arrived.sessions["arrived"] == ""


async def test_no_opening_is_taken_while_nobody_knows_what_is_in_it(bench: Bench) -> None:
    transit = Transit(bench, await under_way(bench, AWAY, has_left=False), is_in_question=True)
    bench.store.balances._before.clear()
    snapshots = BalanceSnapshots(bench.store, bench.exchange, by=UNFENCED, transit=transit)
    assert not await snapshots.ensure_opening()
    transit.is_in_question = False
    assert await snapshots.ensure_opening()


async def test_a_closing_is_taken_again_until_it_is_known_what_is_in_it(bench: Bench) -> None:
    transit = Transit(bench, await under_way(bench, AWAY, has_left=False), is_in_question=True)
    snapshots = BalanceSnapshots(bench.store, bench.exchange, by=UNFENCED, transit=transit)
    await snapshots.close()
    assert not snapshots.closed
    transit.is_in_question = False
    await snapshots.close()
    assert snapshots.closed
