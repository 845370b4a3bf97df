"""Follows the episodes of the pairs that this process decides on, for the store.

It sees all their opportunities, so that each is counted once. What is written
is always an episode's whole state, and no field of it ever goes back: writing it again changes nothing.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from market.money import ZERO
from market.prices.episodes import (
    EXPIRED,
    Episode,
    EpisodeRun,
    MarketPair,
    TradeBounds,
    pair_of,
    tradable_profit,
)
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from runtime.recent_names import RecentNames
from store.errors import StoreError
from store.ports.trading import ObservationStore

MAX_REMEMBERED = 20_000
"""Opportunities remembered: a repeated one comes within seconds, and so does the decision on one."""
KEPT_RUNS = 50
"""Runs of each pair that a decision may still be about."""
MAX_CHANGED = 10_000
"""Episodes buffered during an outage of the store."""
GRACE = 5 * MICROSECONDS
"""An opportunity is undecided for so long after its end before it counts as expired: a reservation may be under way."""


@dataclass(slots=True)
class EpisodeLog:
    """What a process saw and decided, as episodes."""

    bounds: Callable[[Opportunity], TradeBounds]
    """What one trade on an opportunity may use now."""
    _runs: dict[MarketPair, deque[EpisodeRun]] = field(default_factory=dict)
    """The newest runs of each pair, oldest first."""
    _seen: RecentNames = field(default_factory=lambda: RecentNames(MAX_REMEMBERED))
    _counted_until: dict[MarketPair, int] = field(default_factory=dict)
    """What an earlier process has counted, microseconds of event time."""
    _undecided: dict[str, Opportunity] = field(default_factory=dict)
    _changed: dict[EpisodeRun, None] = field(default_factory=dict)

    def resume(self, episodes: Iterable[Episode]) -> None:
        """Go on with what an earlier process has stored."""
        for episode in episodes:
            runs = self._runs.setdefault(episode.pair, deque(maxlen=KEPT_RUNS))
            if all(run.start != episode.start for run in runs):
                # some may have begun meanwhile
                known = sorted((*runs, EpisodeRun.of(episode)), key=lambda run: run.start)
                runs = self._runs[episode.pair] = deque(known, maxlen=KEPT_RUNS)
                self._counted_until[episode.pair] = max(episode.end, self._counted_until.get(episode.pair, 0))

    def see(self, opportunity: Opportunity, now: int) -> None:
        """Count it, once. `now`: the market's time, microseconds. One that
        came too late for any bot, as the backlog at a start does, is seen, and nothing is missed by it."""
        if not self._seen.is_new(opportunity.opportunity_id):
            return
        pair, at = pair_of(opportunity), opportunity.event_time
        if at <= self._counted_until.get(pair, -1):
            return
        runs = self._runs.setdefault(pair, deque(maxlen=KEPT_RUNS))
        if not runs or not runs[-1].goes_on_at(at):
            runs.append(EpisodeRun(pair, at, opportunity.opportunity_id))
        runs[-1].see(at, opportunity.expires_at, opportunity.net_bps, opportunity.opportunity_id)
        if now > opportunity.expires_at:
            runs[-1].decide(EXPIRED, at, ZERO)
        else:
            self._undecided[opportunity.opportunity_id] = opportunity
        if len(self._undecided) > MAX_REMEMBERED:
            del self._undecided[next(iter(self._undecided))]
        self._record_change(runs[-1])

    def reject(self, opportunity: Opportunity, reason: str) -> None:
        """Record that a check rejected the opportunity."""
        self.see(opportunity, opportunity.event_time)
        self._decide(opportunity, reason)

    def follow(self, arbitrage: Arbitrage) -> None:
        """Record what became of an opportunity that was acted on."""
        if arbitrage.strategy != "ma":
            self._decide(arbitrage.opportunity, None)

    def expire(self, now: int) -> None:
        """Those that nobody decided on in time. `now`: the market's time, microseconds."""
        over = [one for one in self._undecided.values() if one.expires_at + GRACE < now]
        for opportunity in over:
            self._decide(opportunity, EXPIRED)

    async def write(self, store: ObservationStore) -> None:
        """Write every episode that changed. Raises StoreError; then they are written with the next ones."""
        changed, self._changed = self._changed, {}
        if not changed:
            return
        try:
            await store.save_episodes([run.episode() for run in changed])
        except StoreError:
            self._changed = changed | self._changed
            raise

    def _decide(self, opportunity: Opportunity, reason: str | None) -> None:
        self._undecided.pop(opportunity.opportunity_id, None)
        run = self._run_at(pair_of(opportunity), opportunity.event_time)
        if run is None or (run.is_taken and reason is None):
            return
        could_count = opportunity.expected_profit > 0 and opportunity.expected_profit >= run.rejected
        profit = tradable_profit(opportunity, self.bounds(opportunity)) if could_count else ZERO
        run.decide(reason, opportunity.event_time, profit)
        self._record_change(run)

    def _run_at(self, pair: MarketPair, at: int) -> EpisodeRun | None:
        """Return the newest run that a sighting of that time is of."""
        known = reversed(self._runs.get(pair, ()))
        return next((run for run in known if run.start <= at <= run.end), None)

    def _record_change(self, run: EpisodeRun) -> None:
        if len(self._changed) < MAX_CHANGED:
            self._changed[run] = None
