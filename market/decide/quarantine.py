"""Spreads too good to be true: another coin of the same ticker, a halted market, a broken book. Pure."""

from collections.abc import Iterable

from market.decide.settings import Settings
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow

HISTORY_SECONDS = 60
"""The windows that are a pair's history."""
HISTORY_REACH_SECONDS = 180
"""How far back their ends may lie: the time after which a level that stays counts as normal."""


def belongs_to_history(window: SpreadWindow, now: int) -> bool:
    """Whether a window still says what is normal at market time `now`, microseconds."""
    reach = HISTORY_REACH_SECONDS * 1_000_000
    return window.length_seconds == HISTORY_SECONDS and now - reach <= window.end <= now + reach


def is_absurd(opportunity: Opportunity, history: Iterable[SpreadWindow], settings: Settings) -> bool:
    """Whether its net spread is so far outside the pair's history that nobody should trade it."""
    limit = absurd_above_bps(history, settings)
    return limit is not None and opportunity.net_bps > limit


def absurd_above_bps(history: Iterable[SpreadWindow], settings: Settings) -> float | None:
    """The net spread above which an opportunity is not believed; None where nothing is too much.

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
