"""What follows from any fills: tables, and a machine that fills legs at random until the arbitrage ends."""

from dataclasses import replace
from decimal import Decimal
from typing import Literal

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import Amount, floor_to_step
from market.trade.arbitrages import FINAL_STATES, Arbitrage, ArbitrageState, Leg, LegRole
from market.trade.unwinding import advance, advancing, client_order_id, lot_tolerance, markets_by_symbol, outcome_of
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
    settings_of,
)

BOOKS = {"USD": ("6000", "6180"), "EUR": ("5454", "5618"), "JPY": ("900000", "927000")}
SYMBOLS = markets_by_symbol(MARKETS)
Policy = Literal["complete", "reverse", "hold"]


def arbitrage(buy: Market, sell: Market, bought: str, sold: str, fees: Decimal = Decimal(0)) -> Arbitrage:
    """Both legs have ended with these fills."""
    buy_price, sell_price = BOOKS[buy.quote_currency][0], BOOKS[sell.quote_currency][1]
    opportunity = opportunity_of((buy, levels((buy_price, "5"))), (sell, levels((sell_price, "5"))))
    legs = []
    rows: list[tuple[Side, Market, str, str]] = [("buy", buy, bought, buy_price), ("sell", sell, sold, sell_price)]
    for side, market, amount, price in rows:
        number = Decimal(amount)
        fills = [fill_of(market, side, number, Decimal(price), fees)] if number else []
        legs.append(order_leg(market, side, Decimal(1), Decimal(price), fills))
    return arbitrage_of(opportunity, *legs)


def filled(leg: Leg, market: Market, amount: Decimal, fee_rate: Decimal = Decimal(0)) -> Leg:
    fills = (fill_of(market, leg.side, amount, leg.limit_price, fee_rate, leg.role),) if amount else ()
    return replace(leg, state="done", fills=fills, held=Decimal(0))


@pytest.mark.parametrize(
    ("bought", "sold", "state", "reason"),
    [
        ("1", "1", "closed", None),
        ("0.4", "0.4", "closed", None),
        ("1", "0.9999", "closed", None),
        ("0", "0", "unfilled", "nothing_filled"),
        ("0.0001", "0", "residual", "below_minimum"),
    ],
)
def test_ends(bought: str, sold: str, state: ArbitrageState, reason: str | None) -> None:
    after = advance(arbitrage(USD_MARKET, EUR_MARKET, bought, sold), settings_of(), 7, SYMBOLS)
    assert (after.state, after.reason) == (state, reason)
    assert after.times["ended"] == 7
    assert after.profit is not None


@pytest.mark.parametrize(
    ("policy", "bought", "sold", "role", "side", "exchange", "amount", "limit"),
    [
        ("complete", "1", "0", "complete", "sell", "beta", "1", "5589.91"),
        ("complete", "1", "0.4", "complete", "sell", "beta", "0.6", "5589.91"),
        ("complete", "0.4", "1", "complete", "buy", "alpha", "0.6", "6030"),
        ("reverse", "1", "0.4", "reverse", "sell", "alpha", "0.6", "5970"),
        ("reverse", "0.4", "1", "reverse", "buy", "beta", "0.6", "5646.09"),
    ],
)
def test_adds_the_leg_of_the_policy(
    policy: Policy, bought: str, sold: str, role: LegRole, side: Side, exchange: str, amount: str, limit: str
) -> None:
    settings = settings_of(single_leg_policy=policy, single_leg_limit_bps=50.0)
    after = advance(arbitrage(USD_MARKET, EUR_MARKET, bought, sold), settings, 7, SYMBOLS)
    leg = after.leg(role)
    assert after.state == "single_leg"
    assert leg is not None
    assert (leg.side, leg.exchange, leg.state) == (side, exchange, "reserved")
    assert [leg.amount, leg.limit_price] == [Decimal(amount), Decimal(limit)]
    assert leg.held == (leg.amount if side == "sell" else leg.amount * leg.limit_price * _with_fee(exchange))
    assert leg.client_order_id == client_order_id(after.arbitrage_id, role)


def _with_fee(exchange: str) -> Decimal:
    return 1 + settings_of().taker_fees[exchange]


def test_hold_policy_ends_at_once() -> None:
    after = advance(arbitrage(USD_MARKET, EUR_MARKET, "1", "0"), settings_of(single_leg_policy="hold"), 7, SYMBOLS)
    assert (after.state, after.reason) == ("residual", "single_leg_left")


@pytest.mark.parametrize(
    ("completed", "reversed_", "state"),
    [("0.6", None, "closed"), ("0.2", "0.4", "unwound"), ("0", "0.6", "unwound"), ("0", "0.1", "residual")],
)
def test_completes_else_reverses_else_holds(completed: str, reversed_: str | None, state: ArbitrageState) -> None:
    one = advance(arbitrage(USD_MARKET, EUR_MARKET, "1", "0.4"), settings_of(), 7, SYMBOLS)
    one = replace(one, legs=(*one.legs[:2], filled(one.legs[2], EUR_MARKET, Decimal(completed))))
    one = advance(one, settings_of(), 8, SYMBOLS)
    if reversed_ is not None:
        assert one.state == "single_leg"
        one = replace(one, legs=(*one.legs[:3], filled(one.legs[3], USD_MARKET, Decimal(reversed_))))
        one = advance(one, settings_of(), 9, SYMBOLS)
    assert one.state == state


def test_a_base_fee_is_no_imbalance() -> None:
    """JPY takes 0.15 % of what was bought; selling the rest, cut to the lot, closes it."""
    after = advance(arbitrage(JPY_MARKET, USD_MARKET, "1", "0.9985", Decimal("0.0015")), settings_of(), 7, SYMBOLS)
    assert after.state == "closed"


def test_less_than_an_order_stays_in_the_ledger() -> None:
    dear = replace(USD_MARKET, minimum_notional=Decimal(100))
    other = replace(EUR_MARKET, minimum_notional=Decimal(100))
    one = arbitrage(dear, other, "1", "0.99")
    after = advance(one, settings_of(), 7, markets_by_symbol((dear, other)))
    assert after.state == "closed"


def test_waits_for_open_legs_and_leaves_ended_ones() -> None:
    one = arbitrage(USD_MARKET, EUR_MARKET, "1", "1")
    flying = replace(one, legs=(one.legs[0], replace(one.legs[1], state="granted")))
    follow = advancing(MARKETS)
    assert follow(flying, settings_of(), 7) is flying
    ended = follow(one, settings_of(), 7)
    assert follow(ended, settings_of(), 8) is ended


def test_a_market_that_the_session_has_not_ends_it_as_held() -> None:
    one = arbitrage(USD_MARKET, EUR_MARKET, "1", "0.4")
    after = advance(one, settings_of(), 7, markets_by_symbol((USD_MARKET, JPY_MARKET)))
    assert (after.state, after.reason, after.times["ended"]) == ("residual", "market_missing", 7)
    assert after.profit is not None


class Execution(RuleBasedStateMachine):
    """Fills each leg as an exchange might, any part of it, until the arbitrage ends."""

    arbitrage: Arbitrage
    steps = 0

    @initialize(
        buy=st.sampled_from(MARKETS),
        sell=st.sampled_from(MARKETS),
        amount=st.integers(1, 400),
        policy=st.sampled_from(["complete", "reverse", "hold"]),
    )
    def start(self, buy: Market, sell: Market, amount: int, policy: str) -> None:
        self.settings = settings_of(single_leg_policy=policy)
        self.steps = 0
        matched = amount * Decimal("0.001")
        one = arbitrage(buy, sell, "0", "0")
        legs = tuple(replace(leg, amount=Amount(matched), state="granted", held=Decimal(1)) for leg in one.legs)
        self.arbitrage = replace(one, legs=legs, amount=Amount(matched))

    @rule()
    def repeat(self) -> None:
        """Asking again without news changes nothing."""
        assert advance(self.arbitrage, self.settings, 99, SYMBOLS) is self.arbitrage

    @precondition(lambda self: self.arbitrage.state not in FINAL_STATES)
    @rule(part=st.sampled_from([Decimal(0), Decimal("0.3"), Decimal("0.999"), Decimal(1)]), is_sent=st.booleans())
    def end_a_leg(self, part: Decimal, is_sent: bool) -> None:
        index, leg = next((index, leg) for index, leg in enumerate(self.arbitrage.legs) if not leg.is_final)
        market = SYMBOLS[leg.exchange, leg.symbol]
        amount = floor_to_step(leg.amount * part, market.lot_step)
        ended = filled(leg, market, amount, self.settings.taker_fees[leg.exchange])
        if not is_sent:
            ended = replace(leg, state="not_sent", held=Decimal(0))
        legs = (*self.arbitrage.legs[:index], ended, *self.arbitrage.legs[index + 1 :])
        self.arbitrage = advance(replace(self.arbitrage, legs=legs), self.settings, self.steps, SYMBOLS)
        self.steps += 1

    @invariant()
    def ends_in_four_steps(self) -> None:
        assert self.steps < 4 or self.arbitrage.state in FINAL_STATES
        assert len({leg.role for leg in self.arbitrage.legs}) == len(self.arbitrage.legs)
        assert len({leg.client_order_id for leg in self.arbitrage.legs}) == len(self.arbitrage.legs)

    @invariant()
    def closed_means_both_legs_equal(self) -> None:
        outcome = outcome_of(self.arbitrage)
        if self.arbitrage.state in ("closed", "unwound"):
            min_value = max(market.minimum_amount for market in MARKETS)
            assert abs(outcome.left) <= max(lot_tolerance(self.arbitrage, SYMBOLS), min_value)
            assert outcome.bought > 0
            assert outcome.sold > 0
        if self.arbitrage.state == "unfilled":
            assert outcome.bought == outcome.sold == 0

    @invariant()
    def is_never_made_worse(self) -> None:
        """Check that an added leg moves at most what is left over."""
        for leg in self.arbitrage.legs[2:]:
            if not leg.is_final:
                assert 0 < leg.amount <= abs(outcome_of(self.arbitrage).left) / (1 - Decimal("0.0015"))


TestExecution = Execution.TestCase
TestExecution.settings = hypothesis_settings(max_examples=150, stateful_step_count=6, deadline=None)
