"""What is found of cycles in one tick set, for sets of a sweep one after another. It follows from a few settings, which
most sets have in common; where the rows are few it is kept for the next set that has the same ones."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from backtest.detect.cycle_search import CycleSighting, cycle_sightings
from backtest.parameters import Parameters
from backtest.simulate.cycle_trader import CycleFeed, cycle_feed
from backtest.sweep.walk_forward import Span
from cep.detection.kernel.cycle_log import cycle_rules
from market.decide.settings import Settings
from market.instruments.cycles import Cycle
from tick_sets.sets.tick_set import TickSet

MOST_ROWS_KEPT = 200_000
"""Rows of a tick set up to which sightings are kept: they hold the books of all rows, about 1 kB each. Beyond, each set
searches the rows again."""

_Found = tuple[object, tuple[CycleSighting, ...]]
"""The rules and cycles of the newest search, and what it found."""


@dataclass(slots=True)
class CycleCandidates:
    """Of one worker."""

    tick_set: TickSet
    most_rows: int = MOST_ROWS_KEPT
    _newest: list[_Found] = field(default_factory=list)

    def feed(self, parameters: Parameters, span: Span | None = None) -> CycleFeed | None:
        """Return what a backtest with these parameters would trade of cycles, in that span alone if one is given; None
        if cycles are not asked for. Raises ImportRejectedError if the set cannot be read."""
        feed = cycle_feed(self.tick_set, parameters, self._sightings)
        if feed is None or span is None:
            return feed
        return replace(feed, sightings=(one for one in feed.sightings if span.start <= one.time < span.end))

    def _sightings(self, cycles: tuple[Cycle, ...], settings: Settings) -> Iterable[CycleSighting]:
        if self.tick_set.manifest.rows > self.most_rows:
            return cycle_sightings(self.tick_set, cycles, settings)
        key = cycle_rules(settings), cycles
        if not self._newest or self._newest[0][0] != key:
            # the old ones go first: both at once may not fit
            self._newest.clear()
            self._newest.append((key, tuple(cycle_sightings(self.tick_set, cycles, settings))))
        return self._newest[0][1]
