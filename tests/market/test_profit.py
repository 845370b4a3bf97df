"""Profit: the parts sum exactly, the whole equals the plain sum of flows, and plain cases give round figures."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import text_of
from market.prices.opportunities import FxRate
from market.trade.arbitrages import PROFIT_PARTS, Arbitrage, Leg, ProfitAndLoss, ProfitShare
from market.trade.profit import decimal_part, profit_of
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
BASE_FEE = replace(OTHER_USD, fee_side="base")
ONE = Decimal(1)
NO_FEE, FEE = Decimal(0), Decimal("0.001")


def leg(market: Market, side: Side, amount: str, price: str, fee_rate: Decimal = NO_FEE) -> Leg:
    number = Decimal(amount)
    fills = [fill_of(market, side, number, Decimal(price), fee_rate)] if number else []
    return order_leg(market, side, ONE, Decimal(price), fills)


def known(arbitrage: Arbitrage) -> ProfitAndLoss:
    profit = profit_of(arbitrage)
    assert profit is not None
    return profit


def traded(buy: Leg, sell: Leg, *more: Leg, buy_market: Market, sell_market: Market) -> ProfitAndLoss:
    opportunity = opportunity_of((buy_market, levels(("100", "1"))), (sell_market, levels(("103", "1"))))
    return known(arbitrage_of(opportunity, buy, sell, *more))


def parts(profit: ProfitAndLoss | ProfitShare) -> str:
    """Gross, latency decay, slippage, fees, FX, unwinding, net."""
    return " ".join(text_of(getattr(profit, name)) for name in PROFIT_PARTS)


def walked(market: Market, side: Side, *rows: tuple[str, str]) -> Leg:
    """Return a leg of several fills: (amount, price)."""
    fills = [
        fill_of(market, side, Decimal(amount), Decimal(price), fill_id=str(number))
        for number, (amount, price) in enumerate(rows)
    ]
    return order_leg(market, side, ONE, Decimal(rows[0][1]), fills)


@pytest.mark.parametrize(
    ("legs", "expected"),
    [
        ([leg(USD_MARKET, "buy", "1", "100"), leg(OTHER_USD, "sell", "1", "103")], "3 0 0 0 0 0 3"),
        (
            [leg(USD_MARKET, "buy", "1", "100.5", FEE), leg(OTHER_USD, "sell", "1", "102", FEE)],
            "3 -1.5 0 -0.2025 0 0 1.2975",
        ),
        (  # decay to the best fill (0.1 on 1 bought), depth from there (0.4 × 0.5 bought; 0.5 × 1 sold)
            [
                walked(USD_MARKET, "buy", ("0.4", "100.6"), ("0.6", "100.1")),
                walked(OTHER_USD, "sell", ("0.5", "103"), ("0.5", "102")),
            ],
            "3 -0.1 -0.7 0 0 0 2.2",
        ),
        (  # better than seen: decay is a gain
            [walked(USD_MARKET, "buy", ("1", "99")), leg(OTHER_USD, "sell", "1", "103")],
            "3 1 0 0 0 0 4",
        ),
        (  # base that the fee took is bought too
            [leg(USD_MARKET, "buy", "1", "100"), leg(BASE_FEE, "sell", "0.999", "103", FEE)],
            "2.999997 0 0 -0.102897 0 0 2.8971",
        ),
        ([leg(USD_MARKET, "buy", "0", "100"), leg(OTHER_USD, "sell", "0", "103")], "0 0 0 0 0 0 0"),
        (  # half of the sell is missing: it is bought inventory at the price seen, no profit of its own
            [leg(USD_MARKET, "buy", "1", "100"), leg(OTHER_USD, "sell", "0.5", "103")],
            "1.5 0 0 0 0 0 1.5",
        ),
        (  # ... and is sold where it was bought, for 99
            [
                leg(USD_MARKET, "buy", "1", "100"),
                leg(OTHER_USD, "sell", "0.5", "103"),
                replace(leg(USD_MARKET, "sell", "0.5", "99"), role="reverse"),
            ],
            "1.5 0 0 0 0 -0.5 1",
        ),
        (  # ... or completed for 102.5 where it should have been sold: 0.5 × 0.5 worse than seen
            [
                leg(USD_MARKET, "buy", "1", "100"),
                leg(OTHER_USD, "sell", "0.5", "103"),
                replace(leg(OTHER_USD, "sell", "0.5", "102.5"), role="complete"),
            ],
            "3 0 0 0 0 -0.25 2.75",
        ),
        (  # a fill that came after the end is sold for 99
            [
                walked(USD_MARKET, "buy", ("1", "100"), ("0.5", "100")),
                leg(OTHER_USD, "sell", "1", "103"),
                replace(leg(USD_MARKET, "sell", "0.5", "99"), role="flatten"),
            ],
            "3 0 0 0 0 -0.5 2.5",
        ),
        (  # a fee in base of what is taken back counts at the price at which that base was bought
            [
                leg(USD_MARKET, "buy", "1", "100"),
                leg(OTHER_USD, "sell", "0.5", "103"),
                replace(leg(BASE_FEE, "sell", "0.4995", "100", FEE), role="reverse"),
            ],
            "1.5 0 0 -0.04995 0 0 1.45005",
        ),
    ],
)
def test_parts(legs: list[Leg], expected: str) -> None:
    assert parts(traded(*legs, buy_market=USD_MARKET, sell_market=OTHER_USD)) == expected


def test_fx_is_the_way_from_mid_to_the_side_that_is_paid() -> None:
    buy, sell = leg(EUR_MARKET, "buy", "1", "100"), leg(USD_MARKET, "sell", "1", "113")
    opportunity = opportunity_of((EUR_MARKET, levels(("100", "1"))), (USD_MARKET, levels(("113", "1"))))
    # mid 1.1, ask 1.1001
    profit = known(arbitrage_of(opportunity, buy, sell))
    assert parts(profit) == "3 0 0 0 -0.01 0 2.99"


def test_a_fee_in_base_costs_what_that_base_cost() -> None:
    buy, sell = leg(JPY_MARKET, "buy", "1", "15000", FEE), leg(USD_MARKET, "sell", "0.999", "103")
    opportunity = opportunity_of((JPY_MARKET, levels(("15000", "1"))), (USD_MARKET, levels(("103", "1"))))
    opportunity = replace(opportunity, fx=(replace(opportunity.fx[0], bid=Decimal(150), ask=Decimal(150)),))
    assert parts(known(arbitrage_of(opportunity, buy, sell))) == "2.997 0 0 -0.1 0 0 2.897"


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
        legs.append(replace(extra, role=draw(st.sampled_from(["complete", "reverse", "flatten"]))))
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
    price = at_mid(opportunity.rate(seen.quote_currency), Fraction(seen.price))
    return left * price + sum((side_value(opportunity.rate(name), flow) for name, flow in flows.items()), Fraction(0))


def parts_of(profit: ProfitAndLoss | ProfitShare) -> list[Decimal]:
    return [getattr(profit, name) for name in PROFIT_PARTS if name != "net"]


@given(arbitrage=arbitrages())
def test_parts_sum_to_the_plain_sum_of_flows(arbitrage: Arbitrage) -> None:
    profit = known(arbitrage)
    assert sum(parts_of(profit)) == profit.net
    assert profit.net == decimal_part(plain_net(arbitrage))
    assert profit.fees <= 0
    assert profit.fx <= 0


@given(arbitrage=arbitrages())
def test_decay_and_slippage_are_what_the_fills_lost_against_the_prices_seen(arbitrage: Arbitrage) -> None:
    profit = known(arbitrage)
    decay, depth = Fraction(0), Fraction(0)
    for one in arbitrage.legs:
        if one.role in ("buy", "sell") and one.fills:
            seen = arbitrage.opportunity.buy if one.role == "buy" else arbitrage.opportunity.sell
            prices = [fill.price for fill in one.fills]
            best = min(prices) if one.role == "buy" else max(prices)
            sign = -1 if one.role == "buy" else 1
            rate = arbitrage.opportunity.rate(one.quote_currency)
            lost = sum((Fraction(fill.amount) * Fraction(fill.price - best) for fill in one.fills), Fraction(0))
            decay += sign * at_mid(rate, Fraction(one.filled) * Fraction(best - seen.price))
            depth += sign * at_mid(rate, lost)
    assert profit.latency_decay == decimal_part(decay)
    # it is the part that takes up what rounding the others left
    assert abs(Fraction(profit.slippage) - depth) <= Fraction(3, 10**8)
    assert depth <= 0


def at_mid(rate: FxRate | None, amount: Fraction) -> Fraction:
    mid = Fraction(1) if rate is None else (Fraction(rate.bid) + Fraction(rate.ask)) / 2
    return amount / mid if rate is not None and rate.inverted else amount * mid


@given(arbitrage=arbitrages())
def test_nothing_is_unwound_without_a_leg_that_unwinds(arbitrage: Arbitrage) -> None:
    profit = known(replace(arbitrage, legs=arbitrage.legs[:2]))
    assert profit.unwinding == 0


@given(arbitrage=arbitrages())
def test_the_shares_of_the_exchanges_are_the_whole_to_the_last_digit(arbitrage: Arbitrage) -> None:
    profit = known(arbitrage)
    exchanges = {leg.exchange for leg in arbitrage.legs}
    assert {share.exchange for share in profit.shares} == exchanges
    assert len(profit.shares) == len(exchanges)
    for name in PROFIT_PARTS:
        assert sum(getattr(share, name) for share in profit.shares) == getattr(profit, name)
    for share in profit.shares:
        assert sum(parts_of(share)) == share.net


@given(arbitrage=arbitrages())
def test_an_exchange_has_its_own_fees_and_decay(arbitrage: Arbitrage) -> None:
    profit = known(arbitrage)
    for share in profit.shares:
        own = replace(arbitrage, legs=tuple(one for one in arbitrage.legs if one.exchange == share.exchange))
        alone = known(own)
        assert abs(share.fees - alone.fees) <= Decimal("1E-8")
        assert abs(share.latency_decay - alone.latency_decay) <= Decimal("1E-8")


def test_gross_is_halved_and_the_rest_is_with_the_leg_that_caused_it() -> None:
    profit = traded(
        leg(USD_MARKET, "buy", "1", "100.5", FEE),
        walked(OTHER_USD, "sell", ("0.5", "103"), ("0.5", "102")),
        buy_market=USD_MARKET,
        sell_market=OTHER_USD,
    )
    assert {share.exchange: parts(share) for share in profit.shares} == {
        "alpha": "1.5 -0.5 0 -0.1005 0 0 0.8995",
        "beta": "1.5 0 -0.5 0 0 0 1",
    }


def test_what_one_exchange_paid_and_the_other_got_of_a_currency_needs_no_fx() -> None:
    other = replace(EUR_MARKET, exchange="delta")
    opportunity = opportunity_of((EUR_MARKET, levels(("100", "1"))), (other, levels(("103", "1"))))
    profit = known(arbitrage_of(opportunity, leg(EUR_MARKET, "buy", "1", "100"), leg(other, "sell", "1", "103")))
    # of 3 EUR alone: mid 1.1, bid 1.0999; shared by 100 and 103 moved
    assert profit.fx == Decimal("-0.0003")
    assert [share.fx for share in profit.shares] == [Decimal("-0.00014778"), Decimal("-0.00015222")]
