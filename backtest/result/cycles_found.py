"""What a backtest found of cycles: episodes, each with its size and profit when it was first seen."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from market.decide.cycle_sizing import SizedCycle
from market.instruments.cycles import Cycle, CycleTerms
from market.money import EXACT, ZERO

SIZED = "sized"
"""The state of an episode that could have been traded; of the others it is the reason why not."""


@dataclass(frozen=True, slots=True)
class CycleEpisode:
    """A cycle that paid without a break, from its first to its last sighting, microseconds UTC. `state`: SIZED, or why
    nothing could be traded at the best sighting so far. Amounts of its sizes' profit are in `currency`."""

    cycle: Cycle
    first_id: str
    start: int
    end: int
    sightings: int
    net_bps: float
    """At the best prices of the first sighting."""
    best_net_bps: float
    state: str = ""
    sized: SizedCycle | None = None
    sized_at: int = 0
    """The sighting of its sizes; 0 if there are none."""

    @property
    def currency(self) -> str:
        return self.cycle.currency


@dataclass(frozen=True, slots=True)
class CyclesFound:
    """`reasons`: why no more cycles were watched."""

    terms: CycleTerms
    watched: int
    reasons: tuple[str, ...]
    episodes: tuple[CycleEpisode, ...]
    """By their beginning."""

    @property
    def sightings(self) -> int:
        return sum(episode.sightings for episode in self.episodes)

    @property
    def by_legs(self) -> Mapping[int, Mapping[str, int]]:
        """Return the number of legs → state → episodes, both in order; each number up to the most that were looked
        for."""
        counts = {legs: Counter[str]() for legs in range(3, self.terms.max_legs + 1)}
        for episode in self.episodes:
            counts[len(episode.cycle.legs)][episode.state] += 1
        return {legs: dict(sorted(states.items())) for legs, states in counts.items()}

    @property
    def profits(self) -> Mapping[str, Decimal]:
        """Return the sum of what sized episodes would have gained, by currency."""
        sums: dict[str, Decimal] = {}
        for episode in self.episodes:
            if episode.sized is not None:
                sums[episode.currency] = EXACT.add(sums.get(episode.currency, ZERO), episode.sized.profit)
        return dict(sorted(sums.items()))


def cycle_assumptions(found: CyclesFound | None) -> tuple[str, ...]:
    """Return as text what the cycles rest on; nothing if none were looked for."""
    if found is None:
        return ()
    return (
        "cycles are found and sized, not executed: each episode once, with the opening balances, at the books of that "
        "moment, of which all cycles together take no more than they show",
        "for cycles, an exchange that quotes an FX rate trades it, and holds a million dollars or so of both "
        "currencies; limits in another currency than the settlement currency count at the opening marks",
    )
