"""Counts every opportunity of the stream, also those not stored, by spread and duration.

Bounded: the last hour by half minutes, the rest in one sum, and the newest runs.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import floor

from market.prices.episodes import EpisodeRun, MarketPair, pair_of
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from store.aggregates.episode_sums import BINS_PER_BPS

SLOT_MICROSECONDS = 30 * MICROSECONDS
KEPT_SLOTS = 121
"""An hour, and the slot that has begun."""
KEPT_RUNS = 5_000


@dataclass(slots=True)
class _Slot:
    start: int
    bins: dict[MarketPair, Counter[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Census:
    """`bins`: half basis point (rounded down) → number, by pair. `runs`: those that have ended, oldest first."""

    since: int
    """Counting begins there, microseconds of event time."""
    bins: dict[MarketPair, Counter[int]]
    runs: tuple[EpisodeRun, ...]
    alive: int
    """Runs whose last opportunity has not expired."""


class OpportunityCensus:
    """Each opportunity goes in once; in the order of the stream, which is that of event times within a base."""

    def __init__(self) -> None:
        self._began: int | None = None
        self._slots: deque[_Slot] = deque()
        self._recent: dict[MarketPair, Counter[int]] = {}
        """The sum of the slots: adding up an hour for each request would delay the live stream."""
        self._older: dict[MarketPair, Counter[int]] = {}
        """Counts that have left the slots."""
        self._newest: dict[MarketPair, EpisodeRun] = {}
        self._ended: deque[EpisodeRun] = deque(maxlen=KEPT_RUNS)

    def record(self, opportunity: Opportunity) -> EpisodeRun:
        """Count an opportunity. Return the run that it belongs to."""
        pair, at = pair_of(opportunity), opportunity.event_time
        self._began = at if self._began is None else min(self._began, at)
        number = floor(opportunity.net_bps * BINS_PER_BPS)
        for bins in (self._slot(at).bins, self._recent):
            bins.setdefault(pair, Counter())[number] += 1
        run = self._newest.get(pair)
        if run is None or not run.goes_on_at(at):
            if run is not None:
                self._ended.append(run)
            run = self._newest[pair] = EpisodeRun(pair, at, opportunity.opportunity_id)
        run.see(at, opportunity.expires_at, opportunity.net_bps, opportunity.opportunity_id)
        return run

    def counted(self, now: int, since: int | None) -> Census:
        """Return the counts from `since` on, rounded down to a half minute; None: all since counting began.
        Microseconds of event time."""
        began = now if self._began is None else self._began
        start = began if since is None else max(began, since - since % SLOT_MICROSECONDS)
        bins: dict[MarketPair, Counter[int]] = {}
        if since is None:
            _add(bins, self._older)
        if since is None or (self._slots and start < self._slots[0].start + SLOT_MICROSECONDS):
            _add(bins, self._recent)
        else:
            for slot in self._slots:
                if slot.start + SLOT_MICROSECONDS > start:
                    _add(bins, slot.bins)
        ended = tuple(run for run in self._all_ended(now) if run.end >= start)
        return Census(start, bins, ended, sum(run.until >= now for run in self._newest.values()))

    def _all_ended(self, now: int) -> Iterator[EpisodeRun]:
        yield from self._ended
        yield from (run for run in self._newest.values() if run.until < now)

    def _slot(self, at: int) -> _Slot:
        """Return the slot of that time; the newest slot if bases arrive a little out of step."""
        start = at - at % SLOT_MICROSECONDS
        if not self._slots or start > self._slots[-1].start:
            self._slots.append(_Slot(start))
            while len(self._slots) > KEPT_SLOTS or self._slots[0].start < start - KEPT_SLOTS * SLOT_MICROSECONDS:
                self._retire(self._slots.popleft().bins)
        return self._slots[-1]

    def _retire(self, bins: dict[MarketPair, Counter[int]]) -> None:
        _add(self._older, bins)
        for pair, counts in bins.items():
            left = self._recent[pair]
            left.subtract(counts)
            self._recent[pair] = +left


def _add(to: dict[MarketPair, Counter[int]], counted: Mapping[MarketPair, Counter[int]]) -> None:
    for pair, counts in counted.items():
        to.setdefault(pair, Counter()).update(counts)
