"""The rows of performance: figures of the whole session, and what was won and lost by day, hour and weekday."""

from collections.abc import Sequence
from decimal import Decimal

from typing_extensions import TypedDict

from market.accounting.performance import DayResult, HourSum, by_hour, by_weekday, performance_of
from ui.rows.attribute import row_from


class DayRow(TypedDict):
    """One UTC day, also one without a trade. `is_whole`: the session ran from its first to its last moment."""

    day: str
    arbitrages: int
    net: str
    is_whole: bool


class HourRow(TypedDict):
    """An hour of the day (`weekday` 0), or a weekday (1 is Monday, `hour` 0), UTC. `lost` is not above 0."""

    weekday: int
    hour: int
    arbitrages: int
    wins: int
    losses: int
    won: str
    lost: str
    net: str


class PerformanceRow(TypedDict):
    """Ratios are of a year, of the net profits of `whole_days`; null: too little is known. `average_loss` and `lost`
    are not above 0. `docs/profit.md` says how each is computed."""

    currency: str
    wins: int
    losses: int
    won: str
    lost: str
    profit_factor: float | None
    expectancy: str | None
    average_win: str | None
    average_loss: str | None
    whole_days: int
    sharpe: float | None
    sortino: float | None
    calmar: float | None
    days: list[DayRow]
    hours: list[HourRow]
    weekdays: list[HourRow]


def performance_row(
    currency: str, sums: Sequence[HourSum], days: Sequence[DayResult], deepest: Decimal
) -> PerformanceRow:
    """Return the row; `deepest`: the largest drawdown, not below 0."""
    return row_from(
        PerformanceRow,
        performance_of(sums, days, deepest),
        currency=currency,
        days=[row_from(DayRow, one) for one in days],
        hours=[row_from(HourRow, one) for one in by_hour(sums)],
        weekdays=[row_from(HourRow, one) for one in by_weekday(sums)],
    )
