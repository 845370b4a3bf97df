"""Whether the best of many sets is more than luck: the deflated Sharpe ratio. Pure.

Bailey and López de Prado, *The Deflated Sharpe Ratio: Correcting for Selection Bias, Backtest Overfitting and
Non-Normality*, Journal of Portfolio Management 40 (2014).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import e, sqrt
from statistics import NormalDist, stdev

from backtest.result.performance import ReturnMoments
from backtest.sweep.results import SetResult, best_first

EULER = 0.5772156649015329
"""The Euler-Mascheroni constant."""
NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class DeflatedSharpe:
    """Of the set with the most net profit."""

    set_number: int
    tries: int
    """Sets that did not do the same."""
    of_luck: float
    """The Sharpe ratio of one interval that the best of as many sets without any skill would show."""
    probability: float
    """That the set's true Sharpe ratio is above that."""


def deflated_sharpe(results: Sequence[SetResult]) -> DeflatedSharpe | None:
    """Return it; None if the best set has too few returns for a ratio. `results`: of the whole tick set."""
    best = next(iter(best_first(results)), None)
    if best is None or best.moments is None:
        return None
    ratios = {one.digest: one.moments.sharpe for one in results if one.moments is not None}
    of_luck = expected_best(len(ratios), stdev(ratios.values()) if len(ratios) > 1 else 0.0)
    return DeflatedSharpe(best.number, len(ratios), of_luck, probability_above(best.moments, of_luck))


def expected_best(tries: int, deviation: float) -> float:
    """Return the highest Sharpe ratio to be expected among that many tries whose true one is 0."""
    if tries < 2:
        return 0.0
    one, other = NORMAL.inv_cdf(1 - 1 / tries), NORMAL.inv_cdf(1 - 1 / (tries * e))
    return deviation * ((1 - EULER) * one + EULER * other)


def probability_above(moments: ReturnMoments, benchmark: float) -> float:
    """Return the probability that the true Sharpe ratio is above the benchmark, both of one interval."""
    spread = 1 - moments.skewness * moments.sharpe + (moments.kurtosis - 1) / 4 * moments.sharpe**2
    return NORMAL.cdf((moments.sharpe - benchmark) * sqrt((moments.returns - 1) / spread))
