"""One backtest from a tick set to its result: detection by workers, trading in this process, both streamed."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from backtest.detect.batch_detection import DetectionSummary, layout_of_set, store_found
from backtest.detect.found_opportunities import count_of, sightings_of
from backtest.detect.found_windows import windows_of
from backtest.detect.garbage import rarely_collected
from backtest.detect.sightings import Sighting
from backtest.detect.workers import Workers, WorkersStoppedError
from backtest.parameters import Parameters
from backtest.provenance import versions_of
from backtest.requested_backtest import added_latency
from backtest.result.asset_marks import marks_of
from backtest.result.backtest_result import BacktestResult, LatencyCost
from backtest.result.data_quality import markets_without_depth, quality_of
from backtest.result.inventory_outages import outages_of
from backtest.result.performance import performance_of
from backtest.result.quote_spacing import MarketSpacing, resolves, spacing_of
from backtest.result.trading_outcome import TradingOutcome
from backtest.simulate.cycle_trader import cycle_feed
from backtest.simulate.quote_history import quote_history_of
from backtest.simulate.recorded_windows import recorded_windows
from backtest.simulate.trade_simulation import BacktestError, trade_sightings, trade_windows, trades_by_windows
from market.time_units import MICROSECONDS
from market.trade.unwinding import markets_by_symbol
from runtime.clock import wall_now
from tick_sets.sets.exchange_times import feed_delays
from tick_sets.sets.manifest import read_manifest
from tick_sets.sets.tick_set import TickSet

Watch = Callable[[str, float], None]
"""(stage, share of it that is done, 0 to 1)."""

ADDED_MS = (25.0, 50.0, 100.0, 250.0, 500.0)
"""Added latencies of the latency table, milliseconds."""
REPORT_EVERY = 200
"""Opportunities between two reports of progress."""


def _no_progress(_: str, __: float) -> None:
    """Report nothing."""


@dataclass(slots=True)
class _Stages:
    """The stages of a backtest and their durations."""

    watch: Watch
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = wall_now()
        self.watch(name, 0.0)
        yield
        self.seconds[name] = (wall_now() - started) / MICROSECONDS


def run_backtest(
    workers: Workers,
    tick_set: TickSet,
    parameters: Parameters,
    *,
    added_ms: tuple[float, ...] = (),
    watch: Watch = _no_progress,
    work: Path | None = None,
) -> BacktestResult:
    """Find and trade.

    `added_ms`: trade again with orders so much later. `work`: the folder for what was found meanwhile (by default the
    system's temporary folder). Memory does not grow with the rows, but with the arbitrages. Raises ImportRejectedError
    if the tick set cannot be read, LookupError if a currency of it cannot be converted, BacktestError if it cannot be
    traded, the workers stop, or the set is rebuilt meanwhile.
    """
    course, scratch = _Stages(watch), Path(mkdtemp(prefix="backtest-", dir=work))
    try:
        detection = _found(workers, tick_set, parameters, scratch / "found", course)
        with course.stage("trading"), rarely_collected():
            trading = _traded(tick_set, scratch / "found", detection, parameters, lambda share: watch("trading", share))
        with course.stage("latency"), rarely_collected():
            costs = _costs(tick_set, scratch / "found", detection, parameters, trading, added_ms, watch)
    finally:
        rmtree(scratch, ignore_errors=True)
    with course.stage("quality"):
        result = replace(_with_quality(tick_set, parameters, detection, trading), latency_costs=costs)
    check_unchanged(tick_set)
    # the stage that just ended is included
    return replace(result, seconds=course.seconds)


def _with_quality(
    tick_set: TickSet, parameters: Parameters, detection: DetectionSummary, trading: TradingOutcome
) -> BacktestResult:
    """Return all but the costs of latency and the seconds."""
    return BacktestResult(
        manifest=tick_set.manifest,
        parameters=parameters,
        detection=detection,
        trading=trading,
        seconds={},
        versions=versions_of(tick_set),
        quality=quality_of(tick_set, parameters.settings.max_quote_age_ms * 1_000),
        without_depth=markets_without_depth(tick_set),
        spacing=spacing_of(tick_set),
        feed_delays=feed_delays(tick_set),
        performance=performance_of(trading, marks_of(tick_set), markets_by_symbol(tick_set.manifest.markets)),
        outages=outages_of(trading, tick_set.manifest.markets, tick_set.manifest.end_time),
    )


def check_unchanged(tick_set: TickSet) -> None:
    """Raise BacktestError if its folder now holds another set: one part may have been read from each. The log of a
    session only grows, so what was read of it stays."""
    if tick_set.manifest.origin == "import" and read_manifest(tick_set.folder) != tick_set.manifest:
        raise BacktestError(f"{tick_set.manifest.name}: was rebuilt while it was read; run the backtest again")


def _found(
    workers: Workers, tick_set: TickSet, parameters: Parameters, folder: Path, course: _Stages
) -> DetectionSummary:
    """Detect, and store the opportunities in `folder`."""
    settings = None if parameters.follow_logged_settings else parameters.settings
    try:
        with course.stage("detection"):
            return store_found(
                workers, tick_set, settings, folder, report=lambda share: course.watch("detection", share)
            )
    except WorkersStoppedError as error:
        raise BacktestError(str(error)) from error


def latency_costs(
    trading: TradingOutcome,
    added_ms: tuple[float, ...],
    spacing: tuple[MarketSpacing, ...],
    later: Callable[[int], TradingOutcome],
) -> tuple[LatencyCost, ...]:
    """Return the costs, first that of no added latency; none if none is asked for.

    `later` trades again with the latency of that number in `added_ms`; it is not called for latencies below the spacing
    of bars, which would all show the same figure.
    """
    if not added_ms:
        return ()
    costs = [LatencyCost(0.0, trading.profit.net, trading.trades)]
    for number, added in enumerate(added_ms):
        if resolves(spacing, round(added * 1_000)):
            outcome = later(number)
            costs.append(LatencyCost(added, outcome.profit.net, outcome.trades))
        else:
            costs.append(LatencyCost(added, None, None))
    return tuple(costs)


def _costs(
    tick_set: TickSet,
    found: Path,
    detection: DetectionSummary,
    parameters: Parameters,
    trading: TradingOutcome,
    added_ms: tuple[float, ...],
    watch: Watch,
) -> tuple[LatencyCost, ...]:
    def later(number: int) -> TradingOutcome:
        slower = added_latency(parameters, added_ms[number])
        return _traded(
            tick_set, found, detection, slower, lambda share: watch("latency", (number + share) / len(added_ms))
        )

    return latency_costs(trading, added_ms, spacing_of(tick_set) if added_ms else (), later)


def _traded(
    tick_set: TickSet,
    found: Path,
    detection: DetectionSummary,
    parameters: Parameters,
    report: Callable[[float], None],
) -> TradingOutcome:
    layout = layout_of_set(tick_set)
    windows = recorded_windows(tick_set, None if parameters.follow_logged_settings else parameters.settings)
    history, markets = quote_history_of(tick_set), tick_set.manifest.markets
    # where no id comes again
    if detection.messages == detection.opportunities and trades_by_windows(parameters):
        count = max(1, detection.messages)
        return trade_windows(
            windows_of(found, layout), history, markets, parameters, windows, lambda done: report(done / count)
        )
    sightings = _counted(sightings_of(found, layout), count_of(found), report)
    return trade_sightings(sightings, history, markets, parameters, windows, cycles=cycle_feed(tick_set, parameters))


def _counted(sightings: Iterable[Sighting], count: int, report: Callable[[float], None]) -> Iterator[Sighting]:
    for number, one in enumerate(sightings):
        if number % REPORT_EVERY == 0:
            report(number / max(1, count))
        yield one
