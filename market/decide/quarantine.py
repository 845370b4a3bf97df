"""Spreads too good to be true: another coin of the same ticker, a halted market, a broken book. Pure."""

from collections.abc import Iterable
from math import inf

from market.decide.settings import Settings
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow

HISTORY_SECONDS = 60
"""Length of the windows that form a pair's history."""
HISTORY_REACH_SECONDS = 180
"""How far back their ends may be: after this time a persistent level counts as normal."""


def belongs_to_history(window: SpreadWindow, now: int) -> bool:
    """Whether a window belongs to the history at market time `now`, microseconds."""
    reach = HISTORY_REACH_SECONDS * 1_000_000
    return window.length_seconds == HISTORY_SECONDS and now - reach <= window.end <= now + reach


def is_absurd(opportunity: Opportunity, history: Iterable[SpreadWindow], settings: Settings) -> bool:
    """Whether its net spread is too far outside the pair's history to be traded."""
    limit = absurd_above_bps(history, settings)
    return limit is not None and opportunity.net_bps > limit


def usual_up_to_bps(settings: Settings) -> float:
    """Return the net spread up to which nothing is quarantined, whatever the pair's history."""
    limits = []
    if settings.quarantine_ceiling_bps > 0:
        limits.append(settings.quarantine_ceiling_bps)
    if settings.quarantine_deviations > 0:
        limits.append(settings.quarantine_floor_bps)
    return min(limits, default=inf)


def absurd_above_bps(history: Iterable[SpreadWindow], settings: Settings) -> float | None:
    """Return the net spread above which an opportunity is quarantined; None: no limit.

    The calmest window decides: the newest hold the jump itself, which would soon make it look normal.
    """
    limits = []
    if settings.quarantine_ceiling_bps > 0:
        limits.append(settings.quarantine_ceiling_bps)
    if settings.quarantine_deviations > 0:
        usual = [window.mean_bps + settings.quarantine_deviations * window.deviation for window in history]
        if usual:
            limits.append(max(settings.quarantine_floor_bps, min(usual)))
    return min(limits, default=None)
