"""How good the trading was: figures that are compared between sessions and strategies. Pure.

Money is exact; ratios are doubles. Returns are the net profit of whole UTC days, days without a trade included, of a
capital that stays the same: so it cancels out of every ratio, and no risk-free rate is taken off. The days on which a
session began and on which it is now are none of them: half a day beside whole ones makes another mean and another
deviation. A year has 365 days, as these markets have no holidays.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import sqrt

from market.accounting.profit_groups import ProfitLine
from market.money import ZERO, total
from market.time_units import MICROSECONDS

DAYS_A_YEAR = 365
DAY = 86_400 * MICROSECONDS
DEVIATION_DAYS = 2
"""Whole days that a deviation needs, so Sharpe and Sortino ratio."""
PACE_DAYS = 1
"""Whole days that the Calmar ratio needs."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
    """`day` as YYYY-MM-DD, UTC. `is_whole`: the session ran from its first to its last moment."""

    day: str
    arbitrages: int
    net: Decimal
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class SessionPerformance:
    """None: too little is known for it. Money is in the settlement currency.

    * `whole_days`: UTC days that ratios are of.
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
    whole_days: int
    sharpe: float | None
    sortino: float | None
    calmar: float | None


def performance_of(hours: Iterable[HourSum], days: Sequence[DayResult], deepest: Decimal) -> SessionPerformance:
    """Return the figures; `days` without gaps, `deepest` the largest drawdown, not below 0."""
    every = list(hours)
    wins, losses = sum(one.wins for one in every), sum(one.losses for one in every)
    won, lost = total(one.won for one in every), total(one.lost for one in every)
    returns = [float(day.net) for day in days if day.is_whole]
    return SessionPerformance(
        wins=wins,
        losses=losses,
        won=won,
        lost=lost,
        profit_factor=float(won / -lost) if lost else None,
        expectancy=_mean(won + lost, wins + losses),
        average_win=_mean(won, wins),
        average_loss=_mean(lost, losses),
        whole_days=len(returns),
        sharpe=sharpe_ratio(returns),
        sortino=sortino_ratio(returns),
        calmar=calmar_ratio(returns, float(deepest)),
    )


def sharpe_ratio(returns: Sequence[float]) -> float | None:
    """Return the ratio of a year; None with fewer than two days, or if all were equal."""
    if len(returns) < DEVIATION_DAYS:
        return None
    mean = sum(returns) / len(returns)
    variance = sum((one - mean) ** 2 for one in returns) / (len(returns) - 1)
    return mean / sqrt(variance) * sqrt(DAYS_A_YEAR) if variance > 0 else None


def sortino_ratio(returns: Sequence[float]) -> float | None:
    """Return the ratio of a year; None with fewer than two days, or if no day lost."""
    if len(returns) < DEVIATION_DAYS:
        return None
    downside = sqrt(sum(min(one, 0.0) ** 2 for one in returns) / len(returns))
    return sum(returns) / len(returns) / downside * sqrt(DAYS_A_YEAR) if downside > 0 else None


def calmar_ratio(returns: Sequence[float], deepest: float) -> float | None:
    """Return the ratio; None without a whole day, or without a drawdown."""
    if len(returns) < PACE_DAYS or deepest <= 0:
        return None
    return sum(returns) / len(returns) * DAYS_A_YEAR / deepest


def day_results(lines: Iterable[ProfitLine], since: int | None, now: int) -> list[DayResult]:
    """Return every UTC day from `since` to `now` (microseconds), those without a trade with 0, and what ended outside.

    `lines`: by day; months, of which only the sums are kept, are left out. None: it is not known since when; then the
    days begin with the first of `lines`, of which the beginning may be missing.
    """
    known = {line.name: line for line in lines if len(line.name) == len("YYYY-MM-DD")}
    ended = [date.fromisoformat(name) for name in known]
    today = _day_of(now)
    began = min(ended, default=today) if since is None else _day_of(since)
    first, last = min([began, *ended]), max([today, *ended])
    whole_from = began if since is not None and since % DAY == 0 else began + timedelta(days=1)
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return [_day_result(day, known.get(day.isoformat()), whole_from <= day < today) for day in days]


def _day_result(day: date, line: ProfitLine | None, is_whole: bool) -> DayResult:
    count, net = (0, ZERO) if line is None else (line.arbitrages, line.profit.net)
    return DayResult(day.isoformat(), count, net, is_whole)


def _day_of(moment: int) -> date:
    return (_EPOCH + timedelta(microseconds=moment)).date()


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
