"""How far the legs of an arbitrage have come."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.trade.arbitrages import ArbitrageState, Leg, LegRole, LegState
from market.trade.lifecycle import stage_of
from tests.market.samples import EUR_MARKET, USD_MARKET, arbitrage_of, fill_of, levels, opportunity_of, order_leg

ONE, PRICE = Decimal(1), Decimal(100)


def leg(role: LegRole, state: LegState, *, is_filled: bool = False) -> Leg:
    """Return a leg; one that is not sent has never been granted."""
    fills = (fill_of(USD_MARKET, "buy", ONE, PRICE),) if is_filled else ()
    times = {"reserved": 1} if state in ("reserved", "not_sent") else {"reserved": 1, "granted": 2}
    return replace(order_leg(USD_MARKET, "buy", ONE, PRICE, fills), role=role, state=state, times=times)


FILLED = leg("buy", "done", is_filled=True)


@pytest.mark.parametrize(
    ("state", "legs", "stage"),
    [
        ("reserved", [leg("buy", "reserved"), leg("sell", "reserved")], "reserved"),
        ("reserved", [leg("buy", "granted"), leg("sell", "reserved")], "sent"),
        ("reserved", [leg("buy", "not_sent"), leg("sell", "reserved")], "reserved"),
        ("reserved", [leg("buy", "not_sent"), leg("sell", "not_sent")], "reserved"),
        ("reserved", [leg("buy", "done"), leg("sell", "done")], "sent"),
        ("reserved", [FILLED, leg("sell", "granted")], "partly_filled"),
        ("reserved", [FILLED, leg("sell", "not_sent")], "filled"),
        ("reserved", [FILLED, leg("sell", "done")], "filled"),
        ("single_leg", [FILLED, leg("sell", "done"), leg("complete", "granted")], "completing"),
        ("single_leg", [FILLED, leg("sell", "done"), leg("complete", "done"), leg("reverse", "reserved")], "reversing"),
        ("single_leg", [FILLED, leg("sell", "done"), leg("flatten", "reserved")], "flattening"),
        ("single_leg", [FILLED, leg("sell", "done")], "filled"),
        ("residual", [FILLED, leg("sell", "done")], "residual"),
        ("closed", [FILLED, leg("sell", "done", is_filled=True)], "closed"),
    ],
)
def test_stage_of(state: ArbitrageState, legs: list[Leg], stage: str) -> None:
    opportunity = opportunity_of((USD_MARKET, levels(("100", "5"))), (EUR_MARKET, levels(("101", "5"))))
    assert stage_of(replace(arbitrage_of(opportunity, *legs), state=state)) == stage
