from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.money import Amount, Price
from market.prices.quotes import Level
from market.prices.size_walk import walked
from tests.market.samples import levels

ASKS = levels(("100", "1"), ("101", "2"), ("103", "4"))


@pytest.mark.parametrize(
    ("amount", "filled", "cost", "worst", "mean", "slippage"),
    [
        ("0.5", "0.5", "50", "100", "100", "0"),
        ("1", "1", "100", "100", "100", "0"),
        ("2", "2", "201", "101", "100.5", "50"),
        ("9", "7", "714", "103", "102", "200"),
    ],
)
def test_an_order_takes_level_after_level(
    amount: str, filled: str, cost: str, worst: str, mean: str, slippage: str
) -> None:
    walk = walked(ASKS, Decimal(amount))
    assert (walk.filled, walk.cost, walk.worst) == (Decimal(filled), Decimal(cost), Decimal(worst))
    assert (walk.mean_price, walk.slippage_bps) == (Decimal(mean), Decimal(slippage))


def test_nothing_fills_on_an_empty_side() -> None:
    walk = walked((), Decimal(1))
    assert walk.filled == 0
    assert (walk.best, walk.worst, walk.mean_price, walk.slippage_bps) == (None, None, None, None)


sides = st.lists(
    st.tuples(st.decimals("0.01", "100000", places=2), st.decimals("0.0001", "1000", places=4)), max_size=10
).map(lambda rows: [Level(Price(price), Amount(amount)) for price, amount in sorted(rows)])


@given(sides, st.decimals("0.0001", "5000", places=4))
def test_no_more_is_filled_than_asked_for_or_offered_and_it_costs_what_the_levels_say(
    side: list[Level], amount: Decimal
) -> None:
    walk = walked(side, amount)
    assert walk.filled == min(amount, sum((level.amount for level in side), Decimal(0)))
    if walk.best is not None and walk.worst is not None:
        assert walk.best * walk.filled <= walk.cost <= walk.worst * walk.filled
