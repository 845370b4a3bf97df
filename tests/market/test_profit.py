"""Profit: the parts sum exactly, the whole equals the plain sum of flows, and plain cases give round figures."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.arbitrages import Arbitrage, Leg, ProfitAndLoss
from market.markets import Market
from market.opportunities import FxRate
from market.orders import Side
from market.profit import decimal_part, profit_of
from tests.market.samples import (
    EUR_MARKET,
    JPY_MARKET,
    MARKETS,
    USD_MARKET,
    arbitrage_of,
    fill_of,
    levels,
    opportunity_of,
    order_leg,
)

OTHER_USD = replace(USD_MARKET, exchange="beta")
ONE = Decimal(1)
NO_FEE, FEE = Decimal(0), Decimal("0.001")


def leg(market: Market, side: Side, amount: str, price: str, fee_rate: Decimal = NO_FEE) -> Leg:
    number = Decimal(amount)
    fills = [fill_of(market, side, number, Decimal(price), fee_rate)] if number else []
    return order_leg(market, side, ONE, Decimal(price), fills)


def traded(buy: Leg, sell: Leg, *more: Leg, buy_market: Market, sell_market: Market) -> ProfitAndLoss:
    opportunity = opportunity_of((buy_market, levels(("100", "1"))), (sell_market, levels(("103", "1"))))
    profit = profit_of(arbitrage_of(opportunity, buy, sell, *more))
    assert profit is not None
    return profit


def parts(profit: ProfitAndLoss) -> dict[str, str]:
    return {
        name: f"{getattr(profit, name):f}".rstrip("0").rstrip(".").replace("-0", "-0") or "0"
        for name in ("gross", "slippage", "fees", "fx", "unwinding", "net")
    }


@pytest.mark.parametrize(
    ("legs", "expected"),
    [
        (
            [leg(USD_MARKET, "buy", "1", "100"), leg(OTHER_USD, "sell", "1", "103")],
            {"gross": "3", "slippage": "0", "fees": "0", "fx": "0", "unwinding": "0", "net": "3"},
        ),
        (
            [leg(USD_MARKET, "buy", "1", "100.5", FEE), leg(OTHER_USD, "sell", "1", "102", FEE)],
            {"gross": "3", "slippage": "-1.5", "fees": "-0.2025", "fx": "0", "unwinding": "0", "net": "1.2975"},
        ),
        (
            [leg(USD_MARKET, "buy", "0", "100"), leg(OTHER_USD, "sell", "0", "103")],
            {"gross": "0", "slippage": "0", "fees": "0", "fx": "0", "unwinding": "0", "net": "0"},
        ),
        (  # half of the sell is missing: it is bought inventory at the price seen, no profit of its own
            [leg(USD_MARKET, "buy", "1", "100"), leg(OTHER_USD, "sell", "0.5", "103")],
            {"gross": "1.5", "slippage": "0", "fees": "0", "fx": "0", "unwinding": "0", "net": "1.5"},
        ),
        (  # ... and is sold where it was bought, for 99
            [
                leg(USD_MARKET, "buy", "1", "100"),
                leg(OTHER_USD, "sell", "0.5", "103"),
                replace(leg(USD_MARKET, "sell", "0.5", "99"), role="reverse"),
            ],
            {"gross": "1.5", "slippage": "0", "fees": "0", "fx": "0", "unwinding": "-0.5", "net": "1"},
        ),
        (  # ... or completed for 102.5 where it should have been sold: 0.5 × 0.5 worse than seen
            [
                leg(USD_MARKET, "buy", "1", "100"),
                leg(OTHER_USD, "sell", "0.5", "103"),
                replace(leg(OTHER_USD, "sell", "0.5", "102.5"), role="complete"),
            ],
            {"gross": "3", "slippage": "0", "fees": "0", "fx": "0", "unwinding": "-0.25", "net": "2.75"},
        ),
    ],
)
def test_parts(legs: list[Leg], expected: dict[str, str]) -> None:
    assert parts(traded(*legs, buy_market=USD_MARKET, sell_market=OTHER_USD)) == expected


def test_fx_is_the_way_from_mid_to_the_side_that_is_paid() -> None:
    buy, sell = leg(EUR_MARKET, "buy", "1", "100"), leg(USD_MARKET, "sell", "1", "113")
    opportunity = opportunity_of((EUR_MARKET, levels(("100", "1"))), (USD_MARKET, levels(("113", "1"))))
    profit = profit_of(arbitrage_of(opportunity, buy, sell))
    # mid 1.1, ask 1.1001
    assert profit is not None
    assert parts(profit) == {"gross": "3", "slippage": "0", "fees": "0", "fx": "-0.01", "unwinding": "0", "net": "2.99"}


def test_a_fee_in_base_costs_what_that_base_cost() -> None:
    buy, sell = leg(JPY_MARKET, "buy", "1", "15000", FEE), leg(USD_MARKET, "sell", "0.999", "103")
    opportunity = opportunity_of((JPY_MARKET, levels(("15000", "1"))), (USD_MARKET, levels(("103", "1"))))
    rate = replace(opportunity.fx[0], bid=Decimal(150), ask=Decimal(150))
    profit = profit_of(arbitrage_of(replace(opportunity, fx=(rate,)), buy, sell))
    assert profit is not None
    assert parts(profit) == {
        "gross": "2.997",
        "slippage": "0",
        "fees": "-0.1",
        "fx": "0",
        "unwinding": "0",
        "net": "2.897",
    }


def test_a_fee_in_a_currency_without_rate_gives_no_profit() -> None:
    strange = replace(fill_of(USD_MARKET, "buy", ONE, ONE), fee=ONE, fee_currency="BNB")
    opportunity = opportunity_of((USD_MARKET, levels(("1", "1"))), (OTHER_USD, levels(("2", "1"))))
    buy = order_leg(USD_MARKET, "buy", ONE, ONE, [strange])
    assert profit_of(arbitrage_of(opportunity, buy, order_leg(OTHER_USD, "sell", ONE, ONE))) is None


@pytest.mark.parametrize(
    ("number", "expected"),
    [("1/3", "0.33333333"), ("-1/3", "-0.33333333"), ("5/1000000000", "0E-8"), ("123456789012345678901", None)],
)
def test_decimal_part(number: str, expected: str | None) -> None:
    assert decimal_part(Fraction(number)) == Decimal(expected or number)


amounts = st.decimals("0", "2", places=8)
prices = st.decimals("1", "200000", places=2)
fee_rates = st.decimals("0", "0.01", places=4)


@st.composite
def arbitrages(draw: st.DrawFn) -> Arbitrage:
    """Any fills on any two markets, perhaps completed or reversed."""
    buy_market, sell_market = draw(st.sampled_from(MARKETS)), draw(st.sampled_from(MARKETS))
    opportunity = opportunity_of(
        (buy_market, levels((str(draw(prices)), "1"))), (sell_market, levels((str(draw(prices)), "1")))
    )
    legs = []
    roles: list[tuple[Side, Market]] = [("buy", buy_market), ("sell", sell_market)]
    for side, market in roles:
        fills = [
            fill_of(market, side, draw(amounts), draw(prices), draw(fee_rates), str(number))
            for number in range(draw(st.integers(0, 3)))
        ]
        legs.append(order_leg(market, side, Decimal(6), ONE, fills))
    if draw(st.booleans()):
        side = draw(st.sampled_from(["buy", "sell"]))
        market = draw(st.sampled_from([buy_market, sell_market]))
        fill = fill_of(market, "buy" if side == "buy" else "sell", draw(amounts), draw(prices), draw(fee_rates))
        extra = order_leg(market, fill.side, fill.amount, fill.price, [fill])
        legs.append(replace(extra, role=draw(st.sampled_from(["complete", "reverse"]))))
    return arbitrage_of(opportunity, *legs)


def side_value(rate: FxRate | None, flow: Fraction) -> Fraction:
    """Plain: what one pays for a missing amount, or gets for a spare one."""
    if rate is None:
        return flow
    if rate.inverted:
        return flow / Fraction(rate.bid if flow < 0 else rate.ask)
    return flow * Fraction(rate.ask if flow < 0 else rate.bid)


def plain_net(arbitrage: Arbitrage) -> Fraction:
    opportunity = arbitrage.opportunity
    flows: dict[str, Fraction] = {}
    for one in arbitrage.legs:
        for fill in one.fills:
            sign = 1 if fill.side == "buy" else -1
            flows["BTC"] = flows.get("BTC", Fraction(0)) + sign * Fraction(fill.amount)
            flows[one.quote_currency] = flows.get(one.quote_currency, Fraction(0)) - sign * Fraction(fill.cost)
            flows[fill.fee_currency] = flows.get(fill.fee_currency, Fraction(0)) - Fraction(fill.fee)
    left = flows.pop("BTC", Fraction(0))
    seen = opportunity.buy if left > 0 else opportunity.sell
    rate = opportunity.rate(seen.quote_currency)
    mid = Fraction(1) if rate is None else (Fraction(rate.bid) + Fraction(rate.ask)) / 2
    price = Fraction(seen.price) / mid if rate is not None and rate.inverted else Fraction(seen.price) * mid
    return left * price + sum((side_value(opportunity.rate(name), flow) for name, flow in flows.items()), Fraction(0))


@given(arbitrage=arbitrages())
def test_parts_sum_to_the_plain_sum_of_flows(arbitrage: Arbitrage) -> None:
    profit = profit_of(arbitrage)
    assert profit is not None
    assert profit.gross + profit.slippage + profit.fees + profit.fx + profit.unwinding == profit.net
    assert profit.net == decimal_part(plain_net(arbitrage))
    assert profit.fees <= 0
    assert profit.fx <= 0


@given(arbitrage=arbitrages())
def test_slippage_is_what_the_fills_lost_against_the_prices_seen(arbitrage: Arbitrage) -> None:
    profit = profit_of(arbitrage)
    assert profit is not None
    exact = Fraction(0)
    for one in arbitrage.legs:
        if one.role in ("buy", "sell"):
            seen = arbitrage.opportunity.buy if one.role == "buy" else arbitrage.opportunity.sell
            rate = arbitrage.opportunity.rate(one.quote_currency)
            lost = sum((Fraction(fill.amount) * Fraction(fill.price - seen.price) for fill in one.fills), Fraction(0))
            mid = Fraction(1) if rate is None else (Fraction(rate.bid) + Fraction(rate.ask)) / 2
            at_mid = lost / mid if rate is not None and rate.inverted else lost * mid
            exact += -at_mid if one.role == "buy" else at_mid
    # it is the part that takes up what rounding the others left
    assert abs(Fraction(profit.slippage) - exact) <= Fraction(3, 10**8)
