from decimal import Decimal
from math import sqrt
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.accounting.performance import (
    DayResult,
    HourSum,
    by_hour,
    by_weekday,
    calmar_ratio,
    day_results,
    performance_of,
    sharpe_ratio,
    sortino_ratio,
)
from market.accounting.profit_groups import ProfitLine, profit_from

YEAR = sqrt(365)


def hour(weekday: int, at: int, won: str, lost: str, wins: int = 1, losses: int = 1) -> HourSum:
    return HourSum(weekday, at, wins + losses, wins, losses, Decimal(won), Decimal(lost))


def line(day: str, net: str, arbitrages: int = 1) -> ProfitLine:
    return ProfitLine(day, arbitrages, profit_from("USD", {"net": Decimal(net)}))


@pytest.mark.parametrize(
    ("returns", "sharpe", "sortino"),
    [
        ([], None, None),
        ([5.0], None, None),
        ([5.0, 5.0], None, None),
        # mean 1, deviation of the sample √2; below 0 nothing
        ([0.0, 2.0], 1 / sqrt(2) * YEAR, None),
        # mean 1, deviation of the sample 4.583, downside √(9/3)
        ([6.0, 0.0, -3.0], 1 / stdev([6, 0, -3]) * YEAR, 1 / sqrt(3) * YEAR),
        ([-1.0, -3.0], -2 / sqrt(2) * YEAR, -2 / sqrt(5) * YEAR),
    ],
)
def test_ratios_by_hand(returns: list[float], sharpe: float | None, sortino: float | None) -> None:
    assert sharpe_ratio(returns) == (None if sharpe is None else pytest.approx(sharpe))
    assert sortino_ratio(returns) == (None if sortino is None else pytest.approx(sortino))


@given(st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=50), st.floats(0.5, 100))
def test_the_capital_cancels_out(returns: list[float], capital: float) -> None:
    ratio = sharpe_ratio(returns)
    if ratio is not None and stdev(returns) > 1e-3:
        assert ratio == pytest.approx(mean(returns) / stdev(returns) * YEAR, rel=1e-6, abs=1e-6)
        assert sharpe_ratio([one / capital for one in returns]) == pytest.approx(ratio, rel=1e-6, abs=1e-6)


def test_calmar_is_a_year_at_this_pace_over_the_largest_drawdown() -> None:
    assert calmar_ratio([1.0, 3.0], 73.0) == pytest.approx(2 * 365 / 73)
    assert calmar_ratio([1.0], 0.0) is None
    assert calmar_ratio([], 5.0) is None


def test_what_was_won_and_lost_makes_factor_and_expectancy() -> None:
    found = performance_of([hour(1, 9, "6", "-2"), hour(2, 9, "3", "-1", wins=2)], [], Decimal(0))
    assert [found.wins, found.losses, found.won, found.lost] == [3, 2, 9, -3]
    assert (found.profit_factor, found.expectancy) == (3.0, Decimal("1.2"))
    assert (found.average_win, found.average_loss) == (Decimal(3), Decimal("-1.5"))


def test_without_a_trade_nothing_is_known() -> None:
    found = performance_of([], [], Decimal(0))
    assert [found.won, found.lost, found.wins] == [0, 0, 0]
    assert {found.profit_factor, found.expectancy, found.average_win, found.sharpe, found.calmar} == {None}


def test_days_without_a_trade_count_and_months_do_not() -> None:
    days = day_results([line("2026-02", "99"), line("2026-03-02", "-1"), line("2026-02-27", "5", 2)])
    assert days == [
        DayResult("2026-02-27", 2, Decimal(5)),
        DayResult("2026-02-28", 0, Decimal(0)),
        DayResult("2026-03-01", 0, Decimal(0)),
        DayResult("2026-03-02", 1, Decimal(-1)),
    ]
    assert day_results([line("2026-02", "99")]) == []


def test_hours_and_weekdays_sum_to_the_whole() -> None:
    sums = [hour(1, 9, "6", "-2"), hour(2, 9, "3", "-1"), hour(7, 23, "0", "-5", wins=0)]
    hours, weekdays = by_hour(sums), by_weekday(sums)
    assert (len(hours), len(weekdays)) == (24, 7)
    assert [one.net for one in hours if one.arbitrages] == [6, -5]
    assert [one.weekday for one in weekdays if one.arbitrages] == [1, 2, 7]
    whole = sum(one.net for one in sums)
    assert sum(one.net for one in hours) == sum(one.net for one in weekdays) == whole
