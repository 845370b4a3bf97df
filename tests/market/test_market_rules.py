"""What an exchange says of fees and markets during a session: it decides sizes, prices and whether a market is used."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import NoReturn

import pytest

from bots.decide.order_decision import Rejected, decide
from market.decide.decision_context import DecisionContext
from market.decide.market_rules import is_closed, market_in_force, rules_of, with_account_rules
from market.decide.settings import Settings, of_next_session
from market.instruments.markets import Market
from market.trade.reservations import Reservation
from market.trade.unwinding import CLOSED, advance, markets_by_symbol, waits_for_market
from tests.market.samples import EUR_MARKET, MARKETS, USD_MARKET, levels, opportunity_of, settings_of
from tests.market.test_leg_planning import arbitrage

COARSE = replace(
    USD_MARKET,
    tick_size=Decimal("0.5"),
    lot_step=Decimal("0.01"),
    minimum_amount=Decimal("0.2"),
    minimum_notional=Decimal(5),
)
TRADED = markets_by_symbol(MARKETS)


def said(market: Market, closed: str = "", fee: str | None = None, of: Settings | None = None) -> Settings:
    rate = None if fee is None else Decimal(fee)
    return with_account_rules(of or settings_of(), market.exchange, rate, {market.symbol: rules_of(market, closed)})


def test_what_was_said_is_in_force_for_its_own_market_alone() -> None:
    settings = said(COARSE)
    assert market_in_force(USD_MARKET, settings) == COARSE
    assert market_in_force(EUR_MARKET, settings) is EUR_MARKET
    assert market_in_force(USD_MARKET, settings_of()) is USD_MARKET


def test_the_same_again_is_no_other_version() -> None:
    settings = said(COARSE, fee="0.002")
    assert settings.taker_fees["alpha"] == Decimal("0.002")
    assert said(COARSE, fee="0.002", of=settings) is settings
    assert said(COARSE, of=settings) is settings
    assert said(COARSE, "cancel_only", of=settings) != settings


def test_a_market_is_closed_until_its_exchange_says_otherwise() -> None:
    closed = said(USD_MARKET, "maintenance")
    assert is_closed("alpha", "BTC/USD", closed)
    assert not is_closed("alpha", "ETH/USD", closed)
    assert not is_closed("alpha", "BTC/USD", said(USD_MARKET, of=closed))


def decided(settings: Settings) -> Reservation | Rejected:
    offered = opportunity_of((USD_MARKET, levels(("100.13", "5"))), (EUR_MARKET, levels(("92.5", "5"))))
    return decide(DecisionContext(offered, settings, now=offered.event_time), TRADED)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (settings_of(max_notional=10), None),
        (said(COARSE, of=settings_of(max_notional=10)), "too_small"),
        (said(USD_MARKET, "cancel_only", of=settings_of(max_notional=10)), "market_closed"),
        (said(EUR_MARKET, "post_only", of=settings_of(max_notional=10)), "market_closed"),
        (said(USD_MARKET, fee="0.09", of=settings_of(max_notional=10)), "recheck_failed"),
    ],
    ids=["as the session began", "higher minimum", "bought where only cancels are taken", "sold there", "higher fee"],
)
def test_a_decision_follows_what_was_said_last(settings: Settings, expected: str | None) -> None:
    decision = decided(settings)
    assert (decision.reason if isinstance(decision, Rejected) else None) == expected


def test_a_changed_tick_is_the_tick_of_the_next_order() -> None:
    decision = decided(said(COARSE))
    assert isinstance(decision, Reservation)
    buy = decision.legs[0]
    assert buy.leg.limit_price % COARSE.tick_size == 0
    assert buy.step == COARSE.lot_step


@pytest.mark.parametrize(("closed", "role"), [(None, "complete"), (EUR_MARKET, "reverse"), (USD_MARKET, "complete")])
def test_a_single_leg_is_unwound_where_orders_are_taken(closed: Market | None, role: str) -> None:
    """The sell found its market closed in the middle: what was bought is sold where it was bought."""
    settings = settings_of() if closed is None else said(closed, "cancel_only")
    following = advance(arbitrage(USD_MARKET, EUR_MARKET, "1", "0"), settings, 1, TRADED)
    assert (following.state, following.legs[-1].role) == ("single_leg", role)


def test_where_both_are_closed_it_is_left_and_said() -> None:
    settings = said(EUR_MARKET, "cancel_only", of=said(USD_MARKET, "maintenance"))
    following = advance(arbitrage(USD_MARKET, EUR_MARKET, "1", "0"), settings, 1, TRADED)
    assert (following.state, following.reason) == ("residual", CLOSED)
    assert waits_for_market(following, settings)
    # the other may open: what was bought is sold where it was bought
    assert waits_for_market(following, said(USD_MARKET, "maintenance"))
    assert not waits_for_market(following, said(EUR_MARKET, "cancel_only"))
    hold = settings.model_copy(update={"single_leg_policy": "hold"})
    assert advance(arbitrage(USD_MARKET, EUR_MARKET, "1", "0"), hold, 1, TRADED).reason == "single_leg_left"


def test_only_the_two_markets_are_made_anew() -> None:
    """A session may have hundreds, and it is done in a transaction."""

    class Counted(dict[tuple[str, str], Market]):
        def __iter__(self) -> Iterator[tuple[str, str]]:
            raise AssertionError("all markets are walked through")

        def items(self) -> NoReturn:
            raise AssertionError("all markets are walked through")

    following = advance(arbitrage(USD_MARKET, EUR_MARKET, "1", "0"), said(USD_MARKET), 1, Counted(TRADED))
    assert following.state == "single_leg"


def test_what_was_asked_at_the_start_replaces_what_was_stored() -> None:
    stored = settings_of(min_net_bps=7.0, enabled_exchanges=("alpha",))
    asked = said(COARSE, fee="0.0033")
    after = of_next_session(stored, asked, is_asked=True)
    assert after is not None
    assert after.taker_fees["alpha"] == Decimal("0.0033")
    assert market_in_force(USD_MARKET, after) == COARSE
    assert (after.min_net_bps, after.enabled_exchanges) == (7.0, ("alpha",))
    assert of_next_session(stored, asked) is None
