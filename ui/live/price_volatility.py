"""How much an asset's price moves now, as annual volatility."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import log, sqrt
from statistics import fmean, median

from market.instruments.markets import Market
from market.time_units import MICROSECONDS
from ui.live.price_series import PricePoint
from ui.live.snapshot import MarketKey

STEP_SECONDS = 5
LEAST_RETURNS = 12
"""One minute of returns."""
YEAR_SECONDS = 365.25 * 86_400

Series = Mapping[MarketKey, Sequence[PricePoint]]


def annual_volatility(series: Series, markets: Iterable[Market]) -> dict[str, float]:
    """Return the annual volatility by base asset, as a fraction of one, from what the charts hold of `markets`. Assets
    that were not watched for a minute are missing.

    Each return is the median over the asset's markets: a dislocation of one of them is no move of the price.
    """
    by_base: dict[str, list[list[PricePoint]]] = {}
    for market in markets:
        if points := series.get((market.exchange, market.symbol)):
            by_base.setdefault(market.base, []).append(list(points))
    found = {base: _returns(markets) for base, markets in by_base.items()}
    return {base: _annual(returns) for base, returns in found.items() if len(returns) >= LEAST_RETURNS}


def _returns(markets: Sequence[Sequence[PricePoint]]) -> list[float]:
    """Return the medians of log returns over STEP_SECONDS, for the time in which all of the markets are known."""
    times = [[point.time for point in points] for points in markets]
    first, last = max(of[0] for of in times), max(of[-1] for of in times)
    grid = range(first, last + 1, STEP_SECONDS * MICROSECONDS)
    logs = [
        [log(points[bisect_right(of, moment) - 1].mid) for moment in grid]
        for points, of in zip(markets, times, strict=True)
    ]
    moves = [[after - before for before, after in pairwise(of)] for of in logs]
    return [median(at_once) for at_once in zip(*moves, strict=True)]


def _annual(returns: Sequence[float]) -> float:
    return sqrt(fmean(one**2 for one in returns) * YEAR_SECONDS / STEP_SECONDS)
