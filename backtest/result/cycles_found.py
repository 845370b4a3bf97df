"""What a backtest found of cycles, and what became of it: episodes, and the trades on them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from market.instruments.cycles import Cycle, CycleTerms
from market.trade.cycle_trades import CycleTrade

TRADED = "traded"
"""The state of an episode that was traded; of the others it is the reason why not."""


@dataclass(frozen=True, slots=True)
class CycleEpisode:
    """A cycle that paid without a break, from its first to its last sighting, microseconds UTC. `state`: TRADED, or why
    it was not when it was decided on last."""

    cycle: Cycle
    first_id: str
    start: int
    end: int
    sightings: int
    net_bps: float
    """At the best prices of the first sighting."""
    best_net_bps: float
    state: str = ""
    trades: tuple[str, ...] = ()
    """Their ids, oldest first."""


@dataclass(frozen=True, slots=True)
class CyclesFound:
    """`reasons`: why no more cycles were watched."""

    terms: CycleTerms
    watched: int
    reasons: tuple[str, ...]
    episodes: tuple[CycleEpisode, ...]
    """By their beginning."""
    trades: tuple[CycleTrade, ...]
    """By the time they began."""

    @property
    def sightings(self) -> int:
        return sum(episode.sightings for episode in self.episodes)

    @property
    def by_legs(self) -> Mapping[int, Mapping[str, int]]:
        """Return the number of legs → state → trades, both in order; each number up to the most that were looked
        for."""
        return self._counted((len(trade.cycle.legs), trade.state) for trade in self.trades)

    @property
    def not_traded(self) -> Mapping[int, Mapping[str, int]]:
        """Return the number of legs → reason → episodes that were not traded."""
        return self._counted(
            (len(episode.cycle.legs), episode.state) for episode in self.episodes if not episode.trades
        )

    def _counted(self, names: Iterable[tuple[int, str]]) -> Mapping[int, Mapping[str, int]]:
        counts = {legs: Counter[str]() for legs in range(3, self.terms.max_legs + 1)}
        for legs, name in names:
            counts[legs][name] += 1
        return {legs: dict(sorted(own.items())) for legs, own in counts.items()}


def cycle_assumptions(found: CyclesFound | None) -> tuple[str, ...]:
    """Return as text what the cycles rest on; nothing if none were looked for."""
    if found is None:
        return ()
    return (
        "cycles share accounts, balances, limits and what quotes show with the pairs of exchanges, which decide first "
        "at one moment",
        "an exchange that quotes an FX rate trades it, and holds a million dollars or so of both currencies; cycles in "
        "another currency than the settlement currency count at the opening marks",
    )
