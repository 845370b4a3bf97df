"""What became of trades, and the share that did not close: counted alike for both ways of trading."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest

from benchmarks.trade_outcomes import FEWEST, figures, outcomes_of, side_by_side
from market.money import Amount
from market.trade.arbitrages import Arbitrage, ArbitrageState
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, order_leg

OPPORTUNITY = opportunity_of((USD_MARKET, levels(("6000", "1"))), (EUR_MARKET, levels(("5618", "1"))))
BUY = order_leg(USD_MARKET, "buy", Decimal(1), Decimal(6000))
SELL = order_leg(EUR_MARKET, "sell", Decimal(1), Decimal(5618))
STEPS = {"event": 1_000_000, "detected": 1_003_000, "sent": 1_010_000, "filled": 1_025_000}


def ended(state: ArbitrageState, legs: int = 2) -> Arbitrage:
    three = (BUY, SELL, replace(SELL, role="complete"))
    return Arbitrage(
        arbitrage_id="one",
        base="BTC",
        state=state,
        opportunity=OPPORTUNITY,
        legs=three[:legs],
        amount=Amount(Decimal(1)),
        send_by=0,
        times=STEPS,
    )


@pytest.mark.parametrize(
    ("arbitrages", "begun", "failed", "by_more", "percent"),
    [
        ([ended("closed")] * 4, 4, 0, 0, 0.0),
        ([ended("closed"), ended("closed", legs=3)], 2, 0, 1, 0.0),
        ([ended("closed"), ended("unwound", legs=3), ended("unfilled"), ended("residual")], 4, 3, 0, 75.0),
        # what is still open when it is counted did not close
        ([ended("closed"), ended("single_leg"), ended("reserved"), ended("closed")], 4, 2, 0, 50.0),
    ],
)
def test_whatever_did_not_close_has_failed(
    arbitrages: Sequence[Arbitrage], begun: int, failed: int, by_more: int, percent: float
) -> None:
    outcomes = outcomes_of(arbitrages)
    assert (outcomes.begun, outcomes.failed, outcomes.by_more) == (begun, failed, by_more)
    assert outcomes.failed_percent == percent


@pytest.mark.parametrize(
    ("session_failed", "storeless_failed", "said"),
    [
        (0, 0, "+0.0 points (at most +3.0: held)"),
        (5, 2, "+3.0 points (at most +3.0: held)"),
        (6, 2, "+4.0 points (at most +3.0: NOT HELD)"),
        (1, 9, "-8.0 points (at most +3.0: held)"),
    ],
)
def test_the_difference_is_in_points_and_says_whether_the_line_is_held(
    session_failed: int, storeless_failed: int, said: str
) -> None:
    sides = (
        [ended("unfilled")] * failed + [ended("closed")] * (100 - failed)
        for failed in (session_failed, storeless_failed)
    )
    assert side_by_side(*sides)[-1].endswith(said)


def test_a_side_that_began_nothing_gives_no_difference() -> None:
    assert side_by_side([], [ended("closed")])[-1].endswith("one of them began nothing")


def test_percentiles_need_enough_trades() -> None:
    assert figures([]).split() == ["0"]
    few = figures([1.0] * (FEWEST - 2) + [FEWEST])
    assert few.split() == f"{FEWEST - 1} too few; mean 2.0, slowest {FEWEST}.0".split()
    enough = figures([float(one) for one in range(1, FEWEST + 1)])
    assert enough.split() == [str(FEWEST), "150.0", "285.0", "297.0"]


def test_every_step_is_printed_for_both_sides_from_the_times_of_their_trades() -> None:
    trades = [replace(ended("closed"), arbitrage_id=str(number)) for number in range(FEWEST)]
    medians = [(line[28:42].strip(), float(line.split()[-3])) for line in side_by_side(trades, trades)[1:9]]
    both = ("session", "without store")
    assert medians == [(name, figure) for figure in (3.0, 7.0, 10.0, 25.0) for name in both]
