"""The auditor of chaos runs: withdrawals at the exchanges beside the decisions to make them."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.accounting.rebalancing import Transfer
from market.accounting.transfer_lifecycle import Deposit, Withdrawal, asked, proposed, with_deposit, with_withdrawal
from simulators.matching.transfer_records import SimulatedDeposit, SimulatedWithdrawal
from tests.launch.audited_world import NOON, World, clean_world

AMOUNT, FEE = Decimal("0.5"), Decimal("0.001")
PLANNED = Transfer("BTC", "alpha", "beta", AMOUNT, FEE, Decimal(60), 600)
ASKED = asked(proposed(PLANNED, "session", NOON, "paper"), 1, NOON)
SENT = with_withdrawal(ASKED, Withdrawal("W1", "BTC", AMOUNT, "done", NOON, network_id="tx1"), NOON, "session")
ARRIVED = with_deposit(SENT, Deposit("D1", "BTC", AMOUNT - FEE, "credited", "tx1"), NOON, "session")
MADE = SimulatedWithdrawal("W1", 7, ASKED.transfer_id, "BTC", AMOUNT, FEE, "to beta", NOON, "done", "tx1", NOON)
CREDITED = SimulatedDeposit(8, "BTC", AMOUNT - FEE, "tx1", NOON)


def moved(world: World, exchange: str, amount: Decimal) -> World:
    """Move an exchange's balance, in our books and as it was reported."""
    balances = tuple(
        replace(row, free=row.free + amount) if (row.exchange, row.currency) == (exchange, "BTC") else row
        for row in world.snapshot.balances
    )
    own = dict(world.snapshot.after[exchange])
    own["BTC"] += amount
    return world.with_snapshot(balances=balances, after={**world.snapshot.after, exchange: own})


def transferred() -> World:
    world = clean_world().with_account("alpha", withdrawals=(MADE,)).with_account("beta", deposits=(CREDITED,))
    return moved(moved(world, "alpha", -AMOUNT), "beta", AMOUNT - FEE).with_snapshot(transfers=(ARRIVED,))


def test_one_withdrawal_for_one_decision_is_no_violation() -> None:
    assert transferred().violations() == []


@pytest.mark.parametrize("client_id", [ASKED.transfer_id, None])
def test_a_withdrawal_sent_twice_is_a_violation(client_id: str | None) -> None:
    first = replace(MADE, client_id=client_id)
    twice = transferred().with_account("alpha", withdrawals=(first, replace(first, withdrawal_id="W2", number=9)))
    kinds = [one.kind for one in twice.violations()]
    assert "withdrawal_twice" in kinds


@pytest.mark.parametrize(
    ("world", "kind"),
    [
        (transferred().with_snapshot(transfers=()), "withdrawal_unknown"),
        (transferred().with_account("alpha", withdrawals=(replace(MADE, state="failed"),)), "transfer_differs"),
        (transferred().with_account("alpha", withdrawals=()), "transfer_differs"),
        (transferred().with_account("beta", deposits=()), "transfer_differs"),
        (transferred().with_account("beta", deposits=(replace(CREDITED, amount=AMOUNT),)), "transfer_differs"),
        (transferred().with_snapshot(transfers=(SENT,)), "transfer_left_open"),
    ],
)
def test_each_lie_about_a_transfer_is_found(world: World, kind: str) -> None:
    assert kind in [one.kind for one in world.violations()]
