"""Moments of a market's quotes: returns, spreads, the basis between two exchanges, and dislocations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from market.money import BPS

Numbers = npt.NDArray[np.float64]

YEAR_SECONDS = 365.25 * 86_400
ANNUAL_SECONDS = 30.0
"""Volatility is computed from returns over this time, so that dislocations of a second hardly affect it."""
QUIET_BPS = 10.0
DISLOCATION_BPS = (5.0, 10.0, 20.0)
_BPS = float(BPS)
_BASIS_SECONDS = 20
"""The basis is the median over this time, so that dislocations do not count as basis."""
_LEVEL_SECONDS = 60
"""A dislocation is a deviation from the median of a minute around it."""


@dataclass(frozen=True, slots=True)
class Track:
    """Quotes of one market in order of time; seconds, and prices in one currency. A trade is both bid and ask."""

    name: str
    times: Numbers
    bids: Numbers
    asks: Numbers

    @property
    def mids(self) -> Numbers:
        return (self.bids + self.asks) / 2


@dataclass(frozen=True, slots=True)
class ReturnMoments:
    """Moments of returns over one second, in bps; `annual` is a fraction of one."""

    deviation: float
    quiet_deviation: float
    """Without returns beyond QUIET_BPS."""
    annual: float
    kurtosis: float
    autocorrelation: float


@dataclass(frozen=True, slots=True)
class DislocationMoments:
    """Dislocations beyond `threshold` bps; seconds, None if there was none."""

    threshold: float
    per_minute: float
    median: float | None
    p90: float | None


@dataclass(frozen=True, slots=True)
class PairMoments:
    """Moments of the basis between two markets: its deviation in bps, and the seconds until half of it is gone."""

    deviation: float
    half_life: float | None
    dislocations: tuple[DislocationMoments, ...]


def return_moments(track: Track) -> ReturnMoments:
    returns = _returns(track, 1.0)
    quiet = returns[np.abs(returns) <= QUIET_BPS]
    annual = float(_returns(track, ANNUAL_SECONDS).std()) / _BPS * (YEAR_SECONDS / ANNUAL_SECONDS) ** 0.5
    centred = returns - returns.mean()
    return ReturnMoments(
        deviation=float(returns.std()),
        quiet_deviation=float(quiet.std()),
        annual=annual,
        kurtosis=float(np.mean(centred**4) / returns.var() ** 2),
        autocorrelation=_correlation(returns, 1),
    )


def spread_bps(track: Track) -> tuple[float, float]:
    """Return the median and the 90th percentile over time."""
    spreads = (track.asks - track.bids) / track.mids * _BPS
    lasting = np.diff(track.times, append=track.times[-1])
    order = np.argsort(spreads)
    share = np.cumsum(lasting[order]) / lasting.sum()
    median, p90 = (float(spreads[order][np.searchsorted(share, part)]) for part in (0.5, 0.9))
    return median, p90


def pair_moments(one: Track, other: Track, step: float) -> PairMoments:
    """Return the moments on a grid of `step` seconds, while both prices are known."""
    grid = np.arange(max(one.times[0], other.times[0]), min(one.times[-1], other.times[-1]), step)
    gap = pd.Series((np.log(_sampled(one, grid)) - np.log(_sampled(other, grid))) * _BPS)
    second = max(1, round(1 / step))
    basis = _around(gap, _BASIS_SECONDS * second)[::second]
    away = np.abs(gap.to_numpy() - _around(gap, _LEVEL_SECONDS * second))
    minutes = len(grid) * step / 60
    return PairMoments(
        deviation=float(basis.std()),
        half_life=half_life(basis),
        dislocations=tuple(_dislocations(away > threshold, threshold, step, minutes) for threshold in DISLOCATION_BPS),
    )


def half_life(basis: Numbers) -> float | None:
    """Return the number of samples until the autocorrelation is below one half; None if that is not within a third of
    them, or if nothing changes."""
    if not basis.std():
        return None
    lags = range(1, len(basis) // 3)
    return next((float(lag) for lag in lags if _correlation(basis, lag) < 0.5), None)


def depth_within(mid: float, levels: Sequence[tuple[float, float]], bps: float) -> float:
    """Return the value of the levels (price, amount) of one side that are within `bps` of the mid."""
    return sum(price * amount for price, amount in levels if abs(price / mid - 1) * _BPS <= bps)


def lengths_of(is_on: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return how many samples each run of true ones lasts."""
    edges = np.diff(np.concatenate(([0], is_on.astype(np.int64), [0])))
    lengths: npt.NDArray[np.int64] = np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
    return lengths


def _dislocations(is_away: npt.NDArray[np.bool_], threshold: float, step: float, minutes: float) -> DislocationMoments:
    lasted = lengths_of(is_away) * step
    if not len(lasted):
        return DislocationMoments(threshold, 0.0, None, None)
    return DislocationMoments(
        threshold, len(lasted) / minutes, float(np.median(lasted)), float(np.quantile(lasted, 0.9))
    )


def _returns(track: Track, seconds: float) -> Numbers:
    mids = _sampled(track, np.arange(track.times[0], track.times[-1], seconds))
    returns: Numbers = np.diff(np.log(mids)) * _BPS
    return returns


def _sampled(track: Track, grid: Numbers) -> Numbers:
    """Return the mid that was in force at each moment."""
    mids: Numbers = track.mids[np.searchsorted(track.times, grid, side="right") - 1]
    return mids


def _around(values: "pd.Series[float]", samples: int) -> Numbers:
    medians: Numbers = values.rolling(samples, min_periods=1, center=True).median().to_numpy()
    return medians


def _correlation(values: Numbers, lag: int) -> float:
    return float(np.corrcoef(values[lag:], values[:-lag])[0, 1])
