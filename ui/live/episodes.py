"""The newest episodes of each asset, with the newest and the best opportunity of each. Bounded."""

from collections import deque
from dataclasses import dataclass
from heapq import nlargest

from market.prices.episodes import Episode, EpisodeRun
from market.prices.opportunities import Opportunity

KEPT_EPISODES = 20
"""Episodes kept of each asset: more than can go on at once between five exchanges."""


@dataclass(frozen=True, slots=True)
class LiveEpisode:
    """`best`: of its opportunities the most profitable one."""

    episode: Episode
    newest: Opportunity
    best: Opportunity


@dataclass(slots=True)
class _Shown:
    run: EpisodeRun
    newest: Opportunity
    best: Opportunity


class LiveEpisodes:
    """Each opportunity goes in once, in the order of the stream."""

    def __init__(self) -> None:
        self._newest: dict[str, deque[_Shown]] = {}

    def record(self, run: EpisodeRun, opportunity: Opportunity) -> None:
        """Record an opportunity of `run`."""
        of_base = self._newest.setdefault(opportunity.base, deque(maxlen=KEPT_EPISODES))
        known = next((one for one in of_base if one.run is run), None)
        if known is None:
            of_base.appendleft(_Shown(run, opportunity, opportunity))
            return
        known.newest = opportunity
        if opportunity.expected_profit > known.best.expected_profit:
            known.best = opportunity

    def newest(self, base: str | None = None) -> tuple[LiveEpisode, ...]:
        """Return the episodes of all assets, or of one; those that began last come first."""
        known = [one for name, of in self._newest.items() if base in (None, name) for one in of]
        newest = nlargest(KEPT_EPISODES, known, key=lambda one: one.run.start)
        return tuple(LiveEpisode(one.run.episode(), one.newest, one.best) for one in newest)
