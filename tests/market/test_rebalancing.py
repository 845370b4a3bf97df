"""Rebalancing: plain cases by hand, and by property that a plan conserves money, sends what is free, costs no more."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchanges.catalogue import known_transfers
from market.accounting.inventory import Holding
from market.accounting.rebalancing import RebalancingPlan, rebalancing_plan
from market.accounting.transfer_terms import SATOSHI, TransferTerms, terms_of, with_changed

VALUES = {"BTC": Decimal(60_000), "USD": Decimal(1)}


def totals_after(holdings: Iterable[Holding], plan: RebalancingPlan) -> dict[tuple[str, str], Decimal]:
    """(exchange, currency) → total, once every transfer has arrived."""
    totals = {(one.exchange, one.currency): one.total for one in holdings}
    for transfer in plan.transfers:
        totals[transfer.source, transfer.currency] -= transfer.amount
        totals[transfer.destination, transfer.currency] += transfer.arrives
    return totals


def holding(exchange: str, total: str, target: str, held: str = "0", currency: str = "BTC") -> Holding:
    return Holding(exchange, currency, Decimal(total) - Decimal(held), Decimal(held), Decimal(target), None)


def terms(exchange: str, fee: str = "0.001", minimum: str = "0.01", currency: str = "BTC") -> TransferTerms:
    return TransferTerms(exchange, currency, Decimal(fee), Decimal(minimum), SATOSHI, 3_600, "a test")


TERMS = terms_of((terms("alpha"), terms("beta"), terms("gamma", fee="0")))
SKEWED = (holding("alpha", "3", "2"), holding("beta", "1", "2"))


def planned(*holdings: Holding, earned: str = "100", values: dict[str, Decimal] = VALUES) -> RebalancingPlan:
    return rebalancing_plan(holdings, TERMS, values, Decimal(earned))


def test_what_is_too_much_goes_where_it_lacks_and_the_fee_is_taken_on_the_way() -> None:
    (transfer,) = planned(*SKEWED).transfers
    assert (transfer.source, transfer.destination) == ("alpha", "beta")
    assert (transfer.amount, transfer.fee, transfer.arrives) == (Decimal(1), Decimal("0.001"), Decimal("0.999"))
    assert (transfer.cost, transfer.seconds) == (Decimal(60), 3_600)


@pytest.mark.parametrize(
    ("holdings", "earned", "reason"),
    [
        (SKEWED, "59.99", "costs_more_than_earned"),
        (SKEWED, "-5", "costs_more_than_earned"),
        ((holding("alpha", "3", "2", held="2.995"), SKEWED[1]), "100", "not_free"),
        ((holding("alpha", "0.012", "0.008"), holding("beta", "0.004", "0.008")), "100", "below_minimum"),
        ((replace(SKEWED[0], exchange="delta"), SKEWED[1]), "100", "terms_unknown"),
    ],
)
def test_what_may_not_be_sent_is_reported_with_its_reason(
    holdings: tuple[Holding, ...], earned: str, reason: str
) -> None:
    plan = planned(*holdings, earned=earned)
    assert plan.transfers == ()
    assert [skipped.reason for skipped in plan.skipped] == [reason]


def test_without_a_price_only_what_costs_nothing_is_sent() -> None:
    assert [skipped.reason for skipped in planned(*SKEWED, values={}).skipped] == ["no_price"]
    free = (replace(SKEWED[0], exchange="gamma"), SKEWED[1])
    assert planned(*free, values={}, earned="0").cost == 0
    assert len(planned(*free, values={}, earned="0").transfers) == 1


def test_a_minimum_below_the_fee_does_not_let_the_fee_eat_it() -> None:
    costly = terms_of((terms("alpha", fee="2", minimum="0"),))
    plan = rebalancing_plan(SKEWED, costly, VALUES, Decimal(10**9))
    assert [skipped.reason for skipped in plan.skipped] == ["fee_exceeds_amount"]


def test_what_is_free_is_sent_once() -> None:
    plan = planned(
        holding("gamma", "10", "2", held="5"), holding("alpha", "0", "4"), holding("beta", "0", "4"), earned="0"
    )
    assert [(one.source, one.destination, one.amount) for one in plan.transfers] == [
        ("gamma", "alpha", Decimal(4)),
        ("gamma", "beta", Decimal(1)),
    ]


def test_small_drift_is_left_alone() -> None:
    plan = planned(holding("alpha", "2.1", "2"), holding("beta", "1.9", "2"))
    assert (plan.transfers, plan.skipped) == ((), ())


def test_one_that_lacks_much_is_filled_by_many_that_have_little_too_much() -> None:
    plan = planned(holding("alpha", "4.2", "4"), holding("gamma", "4.2", "4"), holding("beta", "0.1", "0.5"))
    assert {(one.source, one.destination) for one in plan.transfers} == {("alpha", "beta"), ("gamma", "beta")}


def test_the_most_worth_per_cost_comes_first_where_not_all_can_be_paid() -> None:
    small = (holding("beta", "1.1", "1", currency="USD"), holding("gamma", "0.5", "0.6", currency="USD"))
    known = {**TERMS, ("beta", "USD"): terms("beta", fee="0.05", minimum="0", currency="USD")}
    plan = rebalancing_plan((*small, *SKEWED), known, VALUES, Decimal("60.01"), tolerance=Decimal(0))
    assert [transfer.currency for transfer in plan.transfers] == ["BTC"]
    assert [skipped.currency for skipped in plan.skipped] == ["USD"]


def test_known_terms_are_sound_and_a_user_can_say_others() -> None:
    for one in known_transfers():
        assert 0 <= one.fee <= one.minimum
        assert one.step > 0
        assert one.source
    mine = replace(known_transfers()[0], fee=Decimal(7))
    changed = with_changed(known_transfers(), (mine, terms("mine")))
    assert changed[0] == mine
    assert changed[1:] == (*known_transfers()[1:], terms("mine"))


amounts = st.decimals("0", "100", places=8)
EXCHANGES = ("alpha", "beta", "gamma", "delta")


@st.composite
def books(draw: st.DrawFn) -> list[Holding]:
    """Any balances and targets of two currencies, some of them held; targets never more than there is."""
    found = []
    for currency in ("BTC", "USD"):
        for exchange in draw(st.lists(st.sampled_from(EXCHANGES), unique=True)):
            free, held, target = draw(amounts), draw(amounts), draw(amounts)
            found.append(Holding(exchange, currency, free, held, target, None))
    return found


@given(
    holdings=books(),
    fees=st.lists(
        st.tuples(
            st.sampled_from(EXCHANGES),
            st.sampled_from(["BTC", "USD"]),
            st.decimals("0", "1", places=4),
            st.decimals("0", "5", places=4),
        ),
        min_size=6,
    ),
    earned=st.decimals("-10", "1000000", places=2),
    tolerance=st.decimals("0", "1", places=2),
)
def test_a_plan_keeps_money_sends_what_is_free_and_costs_no_more_than_was_earned(
    holdings: list[Holding],
    fees: list[tuple[str, str, Decimal, Decimal]],
    earned: Decimal,
    tolerance: Decimal,
) -> None:
    known = terms_of(
        TransferTerms(exchange, currency, fee, minimum, SATOSHI, 60, "any") for exchange, currency, fee, minimum in fees
    )
    plan = rebalancing_plan(holdings, known, VALUES, earned, tolerance)
    after = totals_after(holdings, plan)
    assert plan.cost <= max(Decimal(0), earned)
    for currency in ("BTC", "USD"):
        before = sum(one.total for one in holdings if one.currency == currency)
        paid = sum(one.fee for one in plan.transfers if one.currency == currency)
        assert sum(total for (_, name), total in after.items() if name == currency) == before - paid
    for one in holdings:
        sent = sum(
            each.amount for each in plan.transfers if (each.source, each.currency) == (one.exchange, one.currency)
        )
        assert sent <= one.free
        # nobody is brought below its target, and nobody further above it
        assert sent <= max(Decimal(0), one.drift)
        if sent == 0 and one.drift < 0:
            assert one.total <= after[one.exchange, one.currency] <= one.target
    for transfer in plan.transfers:
        rule = known[transfer.source, transfer.currency]
        assert transfer.amount >= rule.minimum
        assert transfer.arrives > 0
        assert transfer.cost == rule.fee * VALUES[transfer.currency]
