"""The work of one task of a sweep: the sets of one chunk, each traded on the candidates that it would have found."""

import gc
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from backtest.detect.batch_detection import layout_of_set
from backtest.detect.found_opportunities import opportunities_of
from backtest.detect.sighting_windows import SightingWindow
from backtest.parameters import Parameters
from backtest.result.asset_marks import Marks
from backtest.result.performance import performance_of
from backtest.result.trading_outcome import TradingOutcome
from backtest.simulate.quote_history import QuoteHistory, quote_history_of
from backtest.simulate.recorded_windows import recorded_windows
from backtest.simulate.trade_simulation import trade_sightings, trade_windows, trades_by_windows
from backtest.sweep.candidates import Candidates
from backtest.sweep.cycle_candidates import CycleCandidates
from backtest.sweep.parameter_grids import Point
from backtest.sweep.parameters import Variable, variables_of, with_values
from backtest.sweep.results import WHOLE, SetResult, result_of
from backtest.sweep.store import SweepDefinition, SweepStore
from backtest.sweep.walk_forward import Span, spans_of
from market.decide.shared_sizes import SharedSizes
from market.instruments.markets import Market
from market.prices.spread_statistics import SpreadWindow
from market.trade.unwinding import markets_by_symbol
from tick_sets.sets.tick_set import TickSet, open_tick_set

MAX_ROWS_IN_MEMORY = 20_000_000
"""Rows of a tick set up to which a worker keeps each row group that it has read; beyond, it keeps KEPT of them."""
KEPT = 64


@dataclass(frozen=True, slots=True)
class SweepTask:
    """What all sets of a sweep have in common, read once by each worker."""

    definition: SweepDefinition
    points: tuple[Point, ...]
    """The points of all sets: they are drawn in sequence, so otherwise a chunk would have to draw all before its own
    again."""
    variables: dict[str, Variable]
    tick_set: TickSet
    markets: tuple[Market, ...]
    candidates: Candidates
    history: QuoteHistory
    spans: tuple[Span, ...]
    marks: Marks
    cycles: CycleCandidates
    sizes: SharedSizes = field(default_factory=SharedSizes)
    """Sizings that sets have in common."""

    def results_of(self, number: int, point: Point) -> list[SetResult]:
        """Return the results on the whole tick set, then on each span; none if the settings are inconsistent."""
        parameters = with_values(self.definition.parameters, point, self.variables)
        if parameters is None:
            return []
        settings, candidates = parameters.settings, self.candidates
        whole = self._traded(candidates.window_under(settings), self.history, parameters)
        performance = performance_of(whole, self.marks, markets_by_symbol(self.markets))
        results = [result_of(number, WHOLE, point, whole, performance)]
        for span in self.spans:
            found = candidates.window_under(settings, span.start, span.end)
            outcome = self._traded(found, self.history.until(span.end), parameters, span)
            results.append(result_of(number, span.number, point, outcome))
        return results

    def _traded(
        self, found: SightingWindow, history: QuoteHistory, parameters: Parameters, span: Span | None = None
    ) -> TradingOutcome:
        windows = self._windows(parameters)
        if trades_by_windows(parameters):
            return trade_windows((found,), history, self.markets, parameters, windows, sized=self.sizes)
        sightings, cycles = map(found.sighting, range(len(found))), self.cycles.feed(parameters, span)
        return trade_sightings(sightings, history, self.markets, parameters, windows, self.sizes, cycles)

    def _windows(self, parameters: Parameters) -> Iterator[SpreadWindow]:
        """Return the windows, which are read only if a rule asks for them."""
        return recorded_windows(self.tick_set, None if parameters.follow_logged_settings else parameters.settings)


def run_chunk(folder: Path, chunk: int) -> int:
    """Store the results of one chunk of the sweep in `folder`. Returns the chunk's number."""
    store, bench = SweepStore(folder), load_task(folder)
    results: list[SetResult] = []
    for number in bench.definition.sets_of(chunk):
        results += bench.results_of(number, bench.points[number])
    store.put_part(chunk, results)
    return chunk


def load_task(folder: Path) -> SweepTask:
    """Return what the chunks of the sweep have in common, read once by a process and its forks."""
    store = SweepStore(folder)
    return _bench_of(folder, store.definition().fingerprint, store.candidates.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _bench_of(folder: Path, fingerprint: str, written: int) -> SweepTask:
    """Return the same for every chunk that one worker does. `fingerprint` and `written` only distinguish sweeps."""
    store = SweepStore(folder)
    definition = store.definition()
    tick_set = open_tick_set(definition.tick_set)
    manifest = tick_set.manifest
    kept = None if manifest.rows <= MAX_ROWS_IN_MEMORY else KEPT
    folds = definition.folds
    bench = SweepTask(
        definition=definition,
        points=tuple(definition.grid.points()),
        variables=variables_of(definition.parameters),
        tick_set=tick_set,
        markets=manifest.markets,
        candidates=Candidates(list(opportunities_of(store.candidates, layout_of_set(tick_set))), store.rate_ages()),
        history=quote_history_of(tick_set, kept),
        spans=() if folds is None else spans_of(manifest.start_time, manifest.end_time, folds),
        marks=store.marks(),
        cycles=CycleCandidates(tick_set),
    )
    # candidates live as long as the worker: collecting garbage among them in each run gains nothing
    bench.candidates.read_books()
    gc.collect()
    gc.freeze()
    return bench
