"""What is transferred next: nothing twice, nothing that is on its way, nothing that costs more than is left."""

from dataclasses import replace
from decimal import Decimal

from market.accounting.rebalancing import Transfer
from market.accounting.transfer_lifecycle import MoneyTransfer, Withdrawal, asked, proposed, with_withdrawal
from market.accounting.transfer_planning import (
    TransferRules,
    next_transfers,
    plan_of,
    rows_with_arriving,
    with_own_amount,
)
from market.accounting.transfer_terms import SATOSHI, TransferTerms, terms_of
from market.money import ZERO
from market.trade.reservation_state import BalanceRow

NAMES = ("alpha", "beta", "gamma")
TERMS = terms_of(
    TransferTerms(name, "BTC", Decimal("0.001"), Decimal("0.01"), SATOSHI, 600, "a test") for name in NAMES
)
VALUES = {"BTC": Decimal(60_000)}
OPENING = {name: {"BTC": Decimal(2)} for name in NAMES}
NET = Decimal(100)


def rows(*amounts: str, unexplained: str = "0") -> list[BalanceRow]:
    return [
        BalanceRow(name, "BTC", Decimal(amount), ZERO, Decimal(unexplained))
        for name, amount in zip(NAMES, amounts, strict=True)
    ]


def planned(
    balances: list[BalanceRow], transfers: tuple[MoneyTransfer, ...] = (), net: Decimal = NET, tolerance: str = "0.1"
) -> tuple[Transfer, ...]:
    rules = TransferRules(tolerance=Decimal(tolerance))
    plan = plan_of(balances, OPENING, transfers, TERMS, VALUES, net, rules, "session")
    return next_transfers(plan, transfers)


def sent(transfer: Transfer, session: str = "session") -> MoneyTransfer:
    made = asked(proposed(transfer, session, 0, "paper"), 1, 0)
    return with_withdrawal(made, Withdrawal("W1", "BTC", transfer.amount, "done", 0, network_id="tx"), 1, session)


def test_what_is_on_its_way_is_not_sent_again() -> None:
    (first,) = planned(rows("3", "1", "2"))
    assert (first.source, first.destination, first.amount) == ("alpha", "beta", Decimal(1))
    assert planned(rows("2", "1", "2"), (sent(first),)) == ()
    (arriving,) = [row for row in rows_with_arriving(rows("2", "1", "2"), (sent(first),)) if row.held]
    assert (arriving.exchange, arriving.held, arriving.free) == ("beta", Decimal("0.999"), Decimal(1))


def test_a_balance_is_in_one_transfer_at_a_time() -> None:
    both = planned(rows("4", "1", "1"), net=Decimal(1_000))
    assert [(one.source, one.destination) for one in both] == [("alpha", "beta")]


def test_what_transfers_of_the_session_cost_is_spent() -> None:
    (first,) = planned(rows("3", "1", "2"))
    assert first.cost == Decimal(60)
    assert planned(rows("1", "2", "3"), (sent(first),), net=Decimal(119)) == ()
    # others' were paid from another net; beta waits for its own all the same
    assert planned(rows("1", "2", "3"), (sent(first, "earlier"),), net=Decimal(119)) == ()
    elsewhere = Transfer("ETH", "alpha", "beta", Decimal(1), Decimal("0.01"), Decimal(60), 600)
    assert planned(rows("1", "2", "3"), (sent(elsewhere),), net=Decimal(119)) == ()
    assert len(planned(rows("1", "2", "3"), (sent(elsewhere),), net=Decimal(120))) == 1
    assert len(planned(rows("1", "2", "3"), (sent(elsewhere, "earlier"),), net=Decimal(60))) == 1


def test_no_more_is_sent_than_the_exchange_has_too() -> None:
    (transfer,) = planned(rows("3", "1", "2", unexplained="-2.5"))
    assert transfer.amount == Decimal("0.5")


def test_where_nothing_else_tells_whose_a_withdrawal_is_its_amount_does() -> None:
    (first,) = planned(rows("3", "1", "2"))
    terms = TransferTerms("alpha", "BTC", first.fee, Decimal("0.01"), SATOSHI, 600, "a test")
    known = [sent(first), sent(replace(first, amount=first.amount - SATOSHI))]
    assert with_own_amount(first, known, terms) == replace(first, amount=first.amount - 2 * SATOSHI)
    assert with_own_amount(first, [sent(replace(first, source="gamma"))], terms) == first
    # a step less is less than may be sent
    assert with_own_amount(first, known[:1], replace(terms, minimum=first.amount)) is None
    assert with_own_amount(first, known[:1], replace(terms, minimum=Decimal(0), fee=first.amount - SATOSHI)) is None


def test_the_tolerance_is_the_rules() -> None:
    assert planned(rows("2.1", "1.9", "2"), tolerance="0.1") == ()
    assert len(planned(rows("2.1", "1.9", "2"), tolerance="0.01")) == 1
