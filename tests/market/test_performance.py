from datetime import date, datetime, timedelta
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
from market.time_units import MICROSECONDS

YEAR = sqrt(365)
HOUR = 3_600 * MICROSECONDS


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


def at(moment: str) -> int:
    """Return microseconds of a time in UTC."""
    return int(datetime.fromisoformat(f"{moment}+00:00").timestamp()) * MICROSECONDS


def short(days: list[DayResult]) -> list[tuple[str, str, bool]]:
    return [(one.day[5:], str(one.net), one.is_whole) for one in days]


@pytest.mark.parametrize(
    ("since", "now", "nets", "expected"),
    [
        # idle days before the first trade and after the last, half days at both ends
        (
            "2026-02-26T12:00",
            "2026-03-02T01:00",
            {"2026-02-28": "5"},
            [
                ("02-26", "0", False),
                ("02-27", "0", True),
                ("02-28", "5", True),
                ("03-01", "0", True),
                ("03-02", "0", False),
            ],
        ),
        # begun and ended at midnight: the first day is whole, the one that just began is not
        (
            "2026-02-27T00:00",
            "2026-03-01T00:00",
            {"2026-02-27": "1"},
            [("02-27", "1", True), ("02-28", "0", True), ("03-01", "0", False)],
        ),
        # one day: never whole
        ("2026-02-27T08:00", "2026-02-27T20:00", {"2026-02-27": "1"}, [("02-27", "1", False)]),
        ("2026-02-27T08:00", "2026-02-27T20:00", {}, [("02-27", "0", False)]),
        # of an earlier session, or by a clock that was ahead: shown, in no ratio
        (
            "2026-02-27T08:00",
            "2026-02-28T20:00",
            {"2026-02-26": "3", "2026-03-01": "4"},
            [("02-26", "3", False), ("02-27", "0", False), ("02-28", "0", False), ("03-01", "4", False)],
        ),
        # it is not known when it began: the first day's beginning may be missing
        (
            None,
            "2026-03-01T20:00",
            {"2026-02-27": "3"},
            [("02-27", "3", False), ("02-28", "0", True), ("03-01", "0", False)],
        ),
        (None, "2026-03-01T20:00", {}, [("03-01", "0", False)]),
    ],
)
def test_every_day_of_the_session_is_there_and_says_whether_it_is_whole(
    since: str | None, now: str, nets: dict[str, str], expected: list[tuple[str, str, bool]]
) -> None:
    lines = [line("2026-02", "99"), *(line(day, net) for day, net in nets.items())]
    assert short(day_results(lines, None if since is None else at(since), at(now))) == expected


@given(st.integers(0, 40 * 24), st.integers(0, 40 * 24), st.dictionaries(st.integers(0, 40), st.integers(-9, 9)))
def test_ratios_are_of_the_whole_days_between_beginning_and_now(began: int, lasted: int, nets: dict[int, int]) -> None:
    start = at("2026-01-01T00:00")
    since, now = start + began * HOUR, start + (began + lasted) * HOUR
    lines = [line(str(date(2026, 1, 1) + timedelta(days=day)), str(net)) for day, net in nets.items()]
    days = day_results(lines, since, now)
    whole = [one.day for one in days if one.is_whole]
    expected = [day for day in range(90) if day * 24 >= began and (day + 1) * 24 <= began + lasted]
    assert whole == [str(date(2026, 1, 1) + timedelta(days=day)) for day in expected]
    assert sum(one.net for one in days) == sum(nets.values())
    found = performance_of([], days, Decimal(1))
    assert found.whole_days == len(expected)
    assert found.sharpe == sharpe_ratio([float(nets.get(day, 0)) for day in expected])


def test_half_a_day_is_in_no_ratio() -> None:
    days = [DayResult("2026-01-01", 1, Decimal(900), is_whole=False), *(whole("2", "3"))]
    found = performance_of([], days, Decimal(10))
    assert found.whole_days == 2
    assert found.sharpe == sharpe_ratio([2.0, 3.0])
    assert found.calmar == pytest.approx(2.5 * 365 / 10)


def whole(*nets: str) -> list[DayResult]:
    return [DayResult(f"2026-01-{day:02}", 1, Decimal(net)) for day, net in enumerate(nets, 2)]


def test_hours_and_weekdays_sum_to_the_whole() -> None:
    sums = [hour(1, 9, "6", "-2"), hour(2, 9, "3", "-1"), hour(7, 23, "0", "-5", wins=0)]
    hours, weekdays = by_hour(sums), by_weekday(sums)
    assert (len(hours), len(weekdays)) == (24, 7)
    assert [one.net for one in hours if one.arbitrages] == [6, -5]
    assert [one.weekday for one in weekdays if one.arbitrages] == [1, 2, 7]
    whole = sum(one.net for one in sums)
    assert sum(one.net for one in hours) == sum(one.net for one in weekdays) == whole
