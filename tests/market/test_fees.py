"""Which currency a fee is taken in, and what that makes of amounts and of what an order needs."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.instruments.fees import base_rate, charged, fee_currency, hold_of, quote_rate, sell_factor
from market.instruments.markets import FeeSide
from market.instruments.orders import Side
from market.money import ZERO
from tests.market.samples import USD_MARKET

RATE = Decimal("0.001")


@pytest.mark.parametrize(
    ("fee_side", "side", "currency", "held"),
    [
        ("quote", "buy", "USD", ("USD", "100.1")),
        ("quote", "sell", "USD", ("BTC", "1")),
        ("base", "buy", "BTC", ("USD", "100")),
        ("base", "sell", "BTC", ("BTC", "1.001")),
        ("received", "buy", "BTC", ("USD", "100")),
        ("received", "sell", "USD", ("BTC", "1")),
    ],
)
def test_currency_and_hold(fee_side: FeeSide, side: Side, currency: str, held: tuple[str, str]) -> None:
    market = replace(USD_MARKET, fee_side=fee_side)
    assert fee_currency(market, side) == currency
    assert hold_of(market, side, RATE, Decimal(100)) == (held[0], Decimal(held[1]))
    in_base = currency == "BTC"
    assert (base_rate(market, side, RATE), quote_rate(market, side, RATE)) == (
        (RATE, ZERO) if in_base else (ZERO, RATE)
    )
    assert charged(market, side, Decimal(200), Decimal(2)) == (2 if in_base else 200)


@pytest.mark.parametrize("fee_side", ["quote", "base", "received"])
def test_a_rebate_is_not_there_before_the_fill(fee_side: FeeSide) -> None:
    """An order needs all of its price and amount, and no more is sold than is bought."""
    market = replace(USD_MARKET, fee_side=fee_side)
    assert hold_of(market, "buy", -RATE, Decimal(100)) == ("USD", Decimal(100))
    assert hold_of(market, "sell", -RATE, Decimal(100)) == ("BTC", Decimal(1))
    assert sell_factor(market, -RATE, market, -RATE) == 1


@pytest.mark.parametrize(
    ("bought_on", "sold_on", "expected"),
    [
        ("quote", "quote", "1"),
        ("base", "quote", "0.999"),
        ("quote", "base", "0.999000999000"),
        ("base", "base", "0.998001998001"),
        ("received", "quote", "0.999"),
        ("quote", "received", "1"),
        ("received", "received", "0.999"),
        ("received", "base", "0.998001998001"),
    ],
)
def test_all_that_was_bought_is_sold_and_no_more(bought_on: FeeSide, sold_on: FeeSide, expected: str) -> None:
    buy, sell = replace(USD_MARKET, fee_side=bought_on), replace(USD_MARKET, fee_side=sold_on)
    factor = sell_factor(buy, RATE, sell, RATE)
    assert factor == Decimal(expected)
    received = 1 - base_rate(buy, "buy", RATE)
    given = factor * (1 + base_rate(sell, "sell", RATE))
    assert received - Decimal("1E-11") < given <= received
