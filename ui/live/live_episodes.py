"""The newest episodes of the stream, with the newest and the best opportunity of each. Bounded."""

from collections import deque
from dataclasses import dataclass

from market.accounting.episodes import Episode, EpisodeRun
from market.prices.opportunities import Opportunity

KEPT_EPISODES = 20


@dataclass(frozen=True, slots=True)
class LiveEpisode:
    """`best`: of its opportunities the one that promises most."""

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
        self._newest: deque[_Shown] = deque(maxlen=KEPT_EPISODES)

    def record(self, run: EpisodeRun, opportunity: Opportunity) -> None:
        """`run`: the one that the opportunity belongs to."""
        known = next((one for one in self._newest if one.run is run), None)
        if known is None:
            self._newest.appendleft(_Shown(run, opportunity, opportunity))
            return
        known.newest = opportunity
        if opportunity.expected_profit > known.best.expected_profit:
            known.best = opportunity

    def newest(self) -> tuple[LiveEpisode, ...]:
        """Those that began last, first."""
        return tuple(LiveEpisode(one.run.episode(), one.newest, one.best) for one in self._newest)
