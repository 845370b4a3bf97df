"""Counts every opportunity of the stream, also those not stored, by spread and duration.

Bounded: the last hour by half minutes, the rest in one sum, and the newest runs.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import floor

from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from store.aggregates.missed_profit_sums import BINS_PER_BPS

SLOT_MICROSECONDS = 30 * MICROSECONDS
KEPT_SLOTS = 121
"""An hour and the slot that has begun."""
KEPT_RUNS = 5_000

PairKey = tuple[str, str, str, str, str]
"""Base, exchange and symbol of the buying and of the selling side."""


@dataclass(slots=True)
class Run:
    """A sequence of opportunities of one directed pair of markets, each before the previous one had expired."""

    pair: PairKey
    first: int
    """Event time, microseconds."""
    last: int
    expires_at: int
    best_bps: float
    sightings: int = 1

    @property
    def duration(self) -> int:
        """Microseconds from the first sighting to the last: a minimum."""
        return self.last - self.first


@dataclass(slots=True)
class _Slot:
    start: int
    bins: dict[PairKey, Counter[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Census:
    """`bins`: half basis point (rounded down) → how many, by pair. `runs`: those that have ended, oldest first."""

    since: int
    """What is counted begins there, microseconds of event time."""
    bins: dict[PairKey, Counter[int]]
    runs: tuple[Run, ...]
    alive: int
    """Runs whose last opportunity has not expired."""


class OpportunityCensus:
    """Each opportunity goes in once; in the order of the stream, which is that of event times within a base."""

    def __init__(self) -> None:
        self._began: int | None = None
        self._slots: deque[_Slot] = deque()
        self._recent: dict[PairKey, Counter[int]] = {}
        """The sum of the slots: adding up an hour for each request would delay the live stream."""
        self._older: dict[PairKey, Counter[int]] = {}
        """Counts that have left the slots."""
        self._newest: dict[PairKey, Run] = {}
        self._ended: deque[Run] = deque(maxlen=KEPT_RUNS)

    def record(self, opportunity: Opportunity) -> None:
        buy, sell = opportunity.buy, opportunity.sell
        pair = (opportunity.base, buy.exchange, buy.symbol, sell.exchange, sell.symbol)
        at = opportunity.event_time
        self._began = at if self._began is None else min(self._began, at)
        number = floor(opportunity.net_bps * BINS_PER_BPS)
        for bins in (self._slot(at).bins, self._recent):
            bins.setdefault(pair, Counter())[number] += 1
        run = self._newest.get(pair)
        if run is None or at > run.expires_at:
            if run is not None:
                self._ended.append(run)
            self._newest[pair] = Run(pair, at, at, opportunity.expires_at, opportunity.net_bps)
            return
        run.last = max(run.last, at)
        run.expires_at = max(run.expires_at, opportunity.expires_at)
        run.best_bps = max(run.best_bps, opportunity.net_bps)
        run.sightings += 1

    def counted(self, now: int, since: int | None) -> Census:
        """From `since` on, rounded down to a half minute; None: all since it began. Microseconds of event time."""
        began = now if self._began is None else self._began
        start = began if since is None else max(began, since - since % SLOT_MICROSECONDS)
        bins: dict[PairKey, Counter[int]] = {}
        if since is None:
            _add(bins, self._older)
        if since is None or (self._slots and start < self._slots[0].start + SLOT_MICROSECONDS):
            _add(bins, self._recent)
        else:
            for slot in self._slots:
                if slot.start + SLOT_MICROSECONDS > start:
                    _add(bins, slot.bins)
        ended = tuple(run for run in self._all_ended(now) if run.last >= start)
        return Census(start, bins, ended, sum(run.expires_at >= now for run in self._newest.values()))

    def _all_ended(self, now: int) -> Iterator[Run]:
        yield from self._ended
        yield from (run for run in self._newest.values() if run.expires_at < now)

    def _slot(self, at: int) -> _Slot:
        """The slot of that time; the newest where bases arrive a little out of step."""
        start = at - at % SLOT_MICROSECONDS
        if not self._slots or start > self._slots[-1].start:
            self._slots.append(_Slot(start))
            while len(self._slots) > KEPT_SLOTS or self._slots[0].start < start - KEPT_SLOTS * SLOT_MICROSECONDS:
                self._retire(self._slots.popleft().bins)
        return self._slots[-1]

    def _retire(self, bins: dict[PairKey, Counter[int]]) -> None:
        _add(self._older, bins)
        for pair, counts in bins.items():
            left = self._recent[pair]
            left.subtract(counts)
            self._recent[pair] = +left


def _add(to: dict[PairKey, Counter[int]], counted: Mapping[PairKey, Counter[int]]) -> None:
    for pair, counts in counted.items():
        to.setdefault(pair, Counter()).update(counts)
