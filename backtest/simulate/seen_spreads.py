"""Statistics of the opportunities seen: how long spreads were profitable, by how much, and the missed profit."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from math import floor, inf

import numpy as np

from backtest.detect.sighting_windows import Doubles, Flags, Integers, SightingWindow
from backtest.detect.sightings import Sighting
from backtest.result.trading_outcome import Lifetime
from market.money import ZERO
from market.prices.episodes import Episode, EpisodeRun, Episodes, MarketPair

MARGIN, ROUNDED = 1e-9, 1e-8
"""Far more than doubles are off, as a share; and more than rounding adds to a profit."""


@dataclass(frozen=True, slots=True, eq=False)
class RefusedSightings:
    """Sightings of one pair, all refused, by their places in a window."""

    window: SightingWindow
    pair: MarketPair
    places: Integers
    reasons: tuple[str, ...]
    codes: Integers
    """Why each is refused: a place in `reasons`."""
    is_nothing: Flags
    """Of which one trade could have had nothing."""
    most: Callable[[Integers], Doubles]
    """Return of places what one trade could have had at most, not exactly."""
    tradable: Callable[[int], Decimal]
    """Return it exactly of one place."""


class SpreadStatistics:
    """Sees each opportunity once, in the order of time, and what became of it."""

    def __init__(self) -> None:
        self.opportunities = 0
        self.currency = ""
        """The currency in which they settle; empty if there was none."""
        self.best_net_bps = -inf
        self._counts: Counter[int] = Counter()
        self._episodes = Episodes()

    def see(self, one: Sighting, reason: str | None, tradable: Callable[[Sighting], Decimal]) -> None:
        """Count an opportunity. `reason`: why it was not traded; None if an arbitrage was begun. `tradable` returns
        what one trade on it could have had at that moment; asked only if it matters."""
        self.opportunities += 1
        self.currency = one.currency
        self.best_net_bps = max(self.best_net_bps, one.net_bps)
        self._counts[floor(one.net_bps)] += 1
        at = one.event_time
        run = self._episodes.run_at(one.pair, at)
        could_miss = reason is not None and run.could_miss_more(one.expected_profit)
        run.see(at, one.expires_at, one.net_bps)
        run.decide(reason, at, tradable(one) if could_miss else ZERO)

    def see_refused(self, refused: RefusedSightings) -> None:
        """Count many as `see` does one after the other."""
        figures, places = refused.window.figures, refused.places
        nets, times, expires = (column[places] for column in (figures.net_bps, figures.times, figures.expires))
        self.opportunities += len(places)
        self.currency = refused.window.currency
        self.best_net_bps = max(self.best_net_bps, float(nets.max()))
        for whole, number in zip(*np.unique(np.floor(nets), return_counts=True), strict=True):
            self._counts[int(whole)] += int(number)
        start = 0
        while start < len(places):
            run = self._episodes.run_at(refused.pair, int(times[start]))
            # a break shows by none coming for as long as those before lived
            lives = np.maximum(np.maximum.accumulate(expires[start:]), run.until)
            breaks = np.flatnonzero(times[start + 1 :] > lives[:-1])
            end = start + 1 + int(breaks[0]) if len(breaks) else len(places)
            own = slice(start, end)
            run.see_many(int(times[end - 1]), int(expires[own].max()), float(nets[own].max()), end - start)
            _Decided(run, refused, start, end).record()
            start = end

    def episodes(self) -> tuple[Episode, ...]:
        """Return the episodes by their beginnings."""
        return self._episodes.all()

    def net_bps_counts(self) -> dict[int, int]:
        """Return floored bps → opportunities, ascending."""
        return dict(sorted(self._counts.items()))


class _Decided:
    """Records what became of sightings of one run, `start` to `end` of those refused; what cannot change the run is
    passed over."""

    def __init__(self, run: EpisodeRun, refused: RefusedSightings, start: int, end: int) -> None:
        self._run = run
        self._refused = refused
        self._places = refused.places[start:end]
        self._codes = refused.codes[start:end]
        self._is_nothing = refused.is_nothing[start:end]
        self._times = refused.window.figures.times[self._places]
        self._profits = refused.window.figures.profits[self._places]
        self._at = 0
        """Up to which of them it is recorded."""

    def record(self) -> None:
        run, wanted = self._run, self._wanted()
        most = self._refused.most(self._places[wanted]) if len(wanted) else np.empty(0)
        while len(wanted):
            may_count = most * (1 + MARGIN) + ROUNDED > float(run.rejected) * (1 - MARGIN)
            wanted, most = wanted[may_count], most[may_count]
            done, rejected = 0, run.rejected
            while done < len(wanted) and run.rejected == rejected:
                self._ask(int(wanted[done]))
                done += 1
            wanted, most = wanted[done:], most[done:]
        self._pass_until(len(self._places))

    def _wanted(self) -> Integers:
        """Return those of which one trade may have had something."""
        if self._run.is_taken:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(~self._is_nothing & (self._profits > 0))

    def _ask(self, place: int) -> None:
        self._pass_until(place)
        could_miss = self._run.could_miss_more(float(self._profits[place]))
        self._decide(place, self._refused.tradable(int(self._places[place])) if could_miss else ZERO)
        self._at = place + 1

    def _pass_until(self, end: int) -> None:
        """Record those of which nothing was missed: that changes the run if they are the first of it, or of the moment
        of what the run has."""
        for place in range(self._at, end):
            if self._run.reason is not None and self._times[place] > self._run.rejected_at:
                break
            self._decide(place, ZERO)
        self._at = end

    def _decide(self, place: int, profit: Decimal) -> None:
        reason = self._refused.reasons[int(self._codes[place])]
        self._run.decide(reason, int(self._times[place]), profit)


def lifetime_of(episode: Episode) -> Lifetime:
    base, buy_exchange, _, sell_exchange, _ = episode.pair
    return Lifetime(base, buy_exchange, sell_exchange, episode.start, episode.end, episode.best_net_bps)
