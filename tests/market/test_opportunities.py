"""FX as an opportunity names it: what one pays, what one gets, and the middle."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.prices.opportunities import FxRate
from tests.market.samples import EUR_MARKET, EUR_RATE, JPY_MARKET, levels, opportunity_of

STRAIGHT = FxRate("EUR", "EUR/USD", inverted=False, bid=Decimal("1.0"), ask=Decimal("1.25"), quote_id="1")
INVERTED = FxRate("JPY", "USD/JPY", inverted=True, bid=Decimal(80), ask=Decimal(100), quote_id="2")


@pytest.mark.parametrize(
    ("rate", "paid", "received", "at_mid"),
    [(STRAIGHT, "1000", "800", "900"), (INVERTED, "10", "8", None)],
)
def test_sides(rate: FxRate, paid: str, received: str, at_mid: str | None) -> None:
    amount = Decimal(800)
    assert rate.paid(amount) == Decimal(paid)
    assert rate.received(amount) == Decimal(received)
    if at_mid is not None:
        assert rate.at_mid(amount) == Decimal(at_mid)


@given(
    amount=st.decimals("0.01", "1000000", places=2),
    bid=st.decimals("0.5", "200", places=4),
    width=st.decimals("0", "1", places=4),
    inverted=st.booleans(),
)
def test_one_pays_at_least_the_middle_and_gets_at_most_it(
    amount: Decimal, bid: Decimal, width: Decimal, inverted: bool
) -> None:
    rate = FxRate("X", "X/Y", inverted, bid, bid + width, "1")
    # 28 digits of a division may differ in the last
    assert rate.received(amount) <= rate.at_mid(amount) * (1 + Decimal("1E-25"))
    assert rate.at_mid(amount) <= rate.paid(amount) * (1 + Decimal("1E-25"))


def test_an_opportunity_knows_the_rate_of_each_currency() -> None:
    one = opportunity_of((EUR_MARKET, levels(("1", "1"))), (JPY_MARKET, levels(("1", "1"))))
    assert one.rate("EUR") == EUR_RATE
    assert one.rate("USD") is None
    assert {rate.currency for rate in one.fx} == {"EUR", "JPY"}
