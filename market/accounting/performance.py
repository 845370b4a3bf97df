"""How good the trading was: figures that are compared between sessions and strategies. Pure.

Money is exact; ratios are doubles. Returns are the net profit of UTC days, from that of the first trade to that of the
last, days between them without a trade included and these two as far as they go, of a capital that stays the same: so
it cancels out of every ratio, and no risk-free rate is taken off. A year has 365 days, as these markets have no
holidays.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from math import sqrt

from market.accounting.profit_groups import ProfitLine
from market.money import ZERO, total

DAYS_A_YEAR = 365


@dataclass(frozen=True, slots=True)
class HourSum:
    """Arbitrages that ended in one hour of one weekday, UTC; `weekday` 1 is Monday. `lost` is not above 0."""

    weekday: int
    hour: int
    arbitrages: int
    wins: int
    losses: int
    won: Decimal
    lost: Decimal

    @property
    def net(self) -> Decimal:
        return self.won + self.lost


@dataclass(frozen=True, slots=True)
class DayResult:
    """`day` as YYYY-MM-DD, UTC."""

    day: str
    arbitrages: int
    net: Decimal


@dataclass(frozen=True, slots=True)
class SessionPerformance:
    """None: too little is known for it. Money is in the settlement currency.

    * `profit_factor`: won / lost. `expectancy`: net of one that won or lost, on average.
    * `sharpe`: mean / standard deviation (of a sample) of daily returns, a year (W. F. Sharpe, The Sharpe Ratio, 1994).
    * `sortino`: mean / downside deviation below 0 over all days, a year (F. A. Sortino and L. N. Price, Performance
      Measurement in a Downside Risk Framework, 1994).
    * `calmar`: net of a year at the pace so far / largest drawdown (T. W. Young, Calmar Ratio, 1991).
    """

    wins: int
    losses: int
    won: Decimal
    lost: Decimal
    profit_factor: float | None
    expectancy: Decimal | None
    average_win: Decimal | None
    average_loss: Decimal | None
    sharpe: float | None
    sortino: float | None
    calmar: float | None


def performance_of(hours: Iterable[HourSum], days: Sequence[DayResult], deepest: Decimal) -> SessionPerformance:
    """Return the figures; `days` without gaps, `deepest` the largest drawdown, not below 0."""
    every = list(hours)
    wins, losses = sum(one.wins for one in every), sum(one.losses for one in every)
    won, lost = total(one.won for one in every), total(one.lost for one in every)
    returns = [float(day.net) for day in days]
    return SessionPerformance(
        wins=wins,
        losses=losses,
        won=won,
        lost=lost,
        profit_factor=float(won / -lost) if lost else None,
        expectancy=_mean(won + lost, wins + losses),
        average_win=_mean(won, wins),
        average_loss=_mean(lost, losses),
        sharpe=sharpe_ratio(returns),
        sortino=sortino_ratio(returns),
        calmar=calmar_ratio(returns, float(deepest)),
    )


def sharpe_ratio(returns: Sequence[float]) -> float | None:
    """Return the ratio of a year; None with fewer than two days, or if all were equal."""
    if len(returns) < 2:
        return None
    mean = sum(returns) / len(returns)
    variance = sum((one - mean) ** 2 for one in returns) / (len(returns) - 1)
    return mean / sqrt(variance) * sqrt(DAYS_A_YEAR) if variance > 0 else None


def sortino_ratio(returns: Sequence[float]) -> float | None:
    """Return the ratio of a year; None with fewer than two days, or if no day lost."""
    if len(returns) < 2:
        return None
    downside = sqrt(sum(min(one, 0.0) ** 2 for one in returns) / len(returns))
    return sum(returns) / len(returns) / downside * sqrt(DAYS_A_YEAR) if downside > 0 else None


def calmar_ratio(returns: Sequence[float], deepest: float) -> float | None:
    """Return the ratio; None without a whole day, or without a drawdown."""
    if not returns or deepest <= 0:
        return None
    return sum(returns) / len(returns) * DAYS_A_YEAR / deepest


def day_results(lines: Iterable[ProfitLine]) -> list[DayResult]:
    """Return every day from the first to the last of `lines` by day, those without a trade with 0. Months, of which
    only the sums are kept, are left out."""
    known = {line.name: line for line in lines if len(line.name) == len("YYYY-MM-DD")}
    if not known:
        return []
    first, last = (date.fromisoformat(name) for name in (min(known), max(known)))
    names = ((first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1))
    found = ((name, known.get(name)) for name in names)
    return [
        DayResult(name, 0, ZERO) if line is None else DayResult(name, line.arbitrages, line.profit.net)
        for name, line in found
    ]


def by_hour(sums: Iterable[HourSum]) -> list[HourSum]:
    """Return the sums of each hour of the day, over all weekdays; 24 of them, `weekday` 0."""
    every = list(sums)
    return [_summed((one for one in every if one.hour == hour), 0, hour) for hour in range(24)]


def by_weekday(sums: Iterable[HourSum]) -> list[HourSum]:
    """Return the sums of each weekday from Monday on; seven of them, `hour` 0."""
    every = list(sums)
    return [_summed((one for one in every if one.weekday == weekday), weekday, 0) for weekday in range(1, 8)]


def _summed(sums: Iterable[HourSum], weekday: int, hour: int) -> HourSum:
    every = list(sums)
    return HourSum(
        weekday,
        hour,
        sum(one.arbitrages for one in every),
        sum(one.wins for one in every),
        sum(one.losses for one in every),
        total(one.won for one in every),
        total(one.lost for one in every),
    )


def _mean(amount: Decimal, count: int) -> Decimal | None:
    return (amount / count).quantize(Decimal("0.00000001")) if count else None
