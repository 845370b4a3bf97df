"""Limit prices on ticks within their slack, and the size rules of an exchange."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.instruments.order_rules import limit_price, minimum_order, rule_broken
from market.instruments.orders import LimitOrder, Side
from market.money import Amount, Price
from tests.market.samples import JPY_MARKET, USD_MARKET


def order(side: Side, amount: str, price: str) -> LimitOrder:
    return LimitOrder("id", "alpha", "BTC/USD", side, Amount(Decimal(amount)), Price(Decimal(price)), 0)


@pytest.mark.parametrize(
    ("side", "price", "slack_bps", "expected"),
    [
        ("buy", "100", 0.0, "100"),
        ("buy", "100", 1.5, "100.01"),
        ("sell", "100", 1.5, "99.99"),
        ("buy", "100", -1.0, "99.99"),
        ("sell", "100.005", 0.0, "100.01"),
        ("sell", "100", 10_000.0, "0.01"),
        ("buy", "0.005", 0.0, "0.01"),
    ],
)
def test_limit_price(side: Side, price: str, slack_bps: float, expected: str) -> None:
    assert limit_price(USD_MARKET, side, Decimal(price), slack_bps) == Decimal(expected)


@given(price=st.decimals("1", "100000", places=2), slack=st.floats(0, 100), side=st.sampled_from(["buy", "sell"]))
def test_a_limit_never_leaves_its_slack(price: Decimal, slack: float, side: str) -> None:
    limit = limit_price(USD_MARKET, "buy" if side == "buy" else "sell", price, slack)
    assert limit % USD_MARKET.tick_size == 0
    widest = price * Decimal(str(slack)) / 10_000
    assert price <= limit <= price + widest if side == "buy" else price - widest <= limit <= price


@pytest.mark.parametrize(
    ("amount", "price", "part"),
    [
        ("0.00005", "100", "lots"),
        ("0", "100", "lots"),
        ("1", "100.001", "ticks"),
        ("1", "0", "ticks"),
        ("0.0001", "100", "notional"),
        ("1", "100", None),
    ],
)
def test_size_rules(amount: str, price: str, part: str | None) -> None:
    broken = rule_broken(order("buy", amount, price), USD_MARKET)
    assert broken is None if part is None else part in (broken or "")


def test_minimum_amount() -> None:
    small = LimitOrder("id", "gamma", "BTC/JPY", "buy", Amount(Decimal("0.001")), Price(Decimal(1)), 0)
    assert rule_broken(small, JPY_MARKET) is None


amounts = st.integers(1, 400).map(lambda number: Decimal(number) / 1_000)


@given(lot=amounts, minimum=amounts, notional=st.integers(0, 50), price=st.integers(1, 99_999))
def test_the_least_order_is_taken_and_a_lot_less_is_not(
    lot: Decimal, minimum: Decimal, notional: int, price: int
) -> None:
    market = replace(USD_MARKET, lot_step=lot, minimum_amount=minimum, minimum_notional=Decimal(notional))
    min_value = minimum_order(market, Decimal(price) / 100)
    assert rule_broken(order("buy", str(min_value), str(Decimal(price) / 100)), market) is None
    assert rule_broken(order("buy", str(min_value - lot), str(Decimal(price) / 100)), market) is not None
