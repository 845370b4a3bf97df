"""`arbitrage sweep`: backtests many parameter sets over one tick set, and can be resumed."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from backtest.detect.forked_workers import ForkedWorkers
from backtest.detect.workers import MOST_ROWS_HERE, ThisProcess
from backtest.parameters import Parameters
from backtest.provenance import versions_of
from backtest.requested_backtest import parameters_for
from backtest.result.quote_spacing import bars_words, spacing_of
from backtest.simulate.trade_simulation import BacktestError
from backtest.sweep.errors import SweepRejectedError, SweepStoppedError
from backtest.sweep.job import TRADING, SweepWorkers, run_sweep, sets_of
from backtest.sweep.parameter_grids import Grid, axis_of, checked_grid, range_of
from backtest.sweep.parameters import checked_against
from backtest.sweep.store import SweepDefinition, SweepStore, sweep_store
from backtest.sweep.tables import SweepTable, sweep_json, sweep_lines, table_of_sweep
from backtest.sweep.walk_forward import Span, spans_of
from cep.errors import CepCannotStartError
from exchanges.catalogue import known_transfers
from launch.commands.backtest import BacktestOptions, local_cores, requested_backtest, spark_workers
from launch.config.cycles import CyclesConfiguration, cycle_terms
from launch.errors import CannotStartError, LaunchError
from launch.sessions.tick_set_names import named_set
from launch.setup.data_dir import backtest_log, check_writable, process_lock, write_atomically
from launch.supervisor.backtest_progress import Progress
from launch.supervisor.ctrl_c import Stopping
from market.accounting.transfer_terms import TransferTerms
from tick_sets.errors import ImportRejectedError
from tick_sets.sets.tick_set import TickSet, open_tick_set

Echo = Callable[[str], None]

FINGERPRINT = "tick_set_sha256"
PROGRAM = "cross-exchange-arbitrage"


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """What the command line said."""

    names: tuple[str, ...] = ()
    """Name of a tick set, a folder, or files; none with `show` or `resume`."""
    grid: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    draws: int | None = None
    seed: int = 1
    folds: int | None = None
    values: tuple[str, ...] = ()
    """`name=value` each, for what is not varied."""
    fee_bps: Decimal | None = None
    latency_ms: tuple[str, ...] = ()
    master: str = "local[*]"
    name: str | None = None
    resume: str | None = None
    show: str | None = None
    json: Path | None = None
    progress: Path | None = None
    config: Path | None = None
    cycles: CyclesConfiguration | None = None
    transfers: tuple[TransferTerms, ...] = field(default_factory=known_transfers)
    """`[cycles]` and `[transfers]` of the configuration; nothing else of it counts."""


def run_sweep_command(home: Path, options: SweepOptions, echo: Echo) -> int:
    """Run the sweep. Returns exit code 0 if the ledgers of all sets reconcile. Raises LaunchError in one sentence."""
    if options.json is not None:
        check_writable(options.json)
    return _report(finished_sweep(home, options, echo), options.json, echo)


def finished_sweep(home: Path, options: SweepOptions, echo: Echo) -> SweepTable:
    """Compute what is missing of the sweep, unless it is only shown, and return its table. Raises LaunchError."""
    try:
        _check_known(options)
        if options.show is not None:
            return _table(sweep_store(home, options.show))
        tick_set, definition = _requested_sweep(home, options)
        store = sweep_store(home, definition.name)
        with process_lock(home, f"sweep-{definition.name}"):
            store.begin(definition)
            _run(home, tick_set, store, options, echo)
        return _table(store)
    except (SweepRejectedError, ImportRejectedError, CepCannotStartError) as error:
        raise CannotStartError(f"{str(error).rstrip('.')}.") from error
    except (SweepStoppedError, BacktestError) as error:
        raise LaunchError(f"{error}.") from error


def _check_known(options: SweepOptions) -> None:
    """Raise SweepRejectedError for options that contradict each other or that a stored sweep would ignore."""
    known = {"--show": options.show, "--resume": options.resume}
    given = [option for option, name in known.items() if name is not None]
    if len(given) > 1:
        raise SweepRejectedError("--show and --resume exclude each other: give one of them")
    defaults = SweepOptions()
    free = replace(
        options, show=None, resume=None, json=None, master=defaults.master, cycles=None, transfers=defaults.transfers
    )
    if given and free != defaults:
        raise SweepRejectedError(
            f"{given[0]} takes the tick set and the parameters from the stored sweep; drop the other options"
        )
    varied = {text.partition("=")[0].strip() for text in (*options.grid, *options.ranges)}
    twice = [name for name in (text.partition("=")[0].strip() for text in options.values) if name in varied]
    if twice:
        raise SweepRejectedError(f"{twice[0]} is varied, so it cannot be given with --set-value too")


def _requested_sweep(home: Path, options: SweepOptions) -> tuple[TickSet, SweepDefinition]:
    """Return the sweep. Raises SweepRejectedError, ImportRejectedError, CannotStartError."""
    if options.resume is not None:
        begun = sweep_store(home, options.resume).definition()
        tick_set = open_tick_set(begun.tick_set)
        found = versions_of(tick_set)
        return tick_set, replace(begun, fingerprint=found[FINGERPRINT], versions=_compared(found))
    if not options.names:
        raise SweepRejectedError("name a tick set, or a sweep with --resume or --show")
    grid = Grid(
        axes=tuple(axis_of(text) for text in options.grid),
        ranges=tuple(range_of(text) for text in options.ranges),
        draws=options.draws,
        seed=options.seed,
    )
    # before the ticks are read, because most mistakes can be found without them
    checked_grid(grid)
    tick_set = named_set(home, options.names)
    request = requested_backtest(_backtest_options(options))
    exchanges = dict.fromkeys(market.exchange for market in tick_set.manifest.markets)
    parameters = parameters_for(tick_set, replace(request, cycles=cycle_terms(options.cycles, exchanges)))
    grid = checked_against(grid, parameters)
    if options.folds is not None:
        spans_of(tick_set.manifest.start_time, tick_set.manifest.end_time, options.folds)
    found = versions_of(tick_set)
    definition = SweepDefinition(
        name=options.name or _name_of(tick_set, grid, parameters, options.folds),
        tick_set=tick_set.folder.resolve(),
        fingerprint=found[FINGERPRINT],
        grid=grid,
        parameters=parameters,
        folds=options.folds,
        versions=_compared(found),
    )
    sets_of(definition)
    return tick_set, definition


def _run(home: Path, tick_set: TickSet, store: SweepStore, options: SweepOptions, echo: Echo) -> None:
    definition = store.definition()
    missing = len(store.missing(definition))
    if not missing:
        return
    if missing < definition.chunks:
        echo(f"sweep {definition.name}: resuming, {definition.chunks - missing} of {definition.chunks} chunks are done")
    else:
        echo(f"sweep {definition.name}: {definition.grid.size:,} sets over {tick_set.manifest.quotes:,} quotes")
    advice = f"Finished sets are stored: continue with `arbitrage sweep --resume {definition.name}`."
    with Stopping(backtest_log(home), advice), Progress(options.progress, in_lines=True) as progress:

        def report_progress(stage: str, share: float) -> None:
            if stage != TRADING:
                progress(stage, share)
                return
            done = definition.grid.size - _sets_missing(store, definition)
            progress(stage, done / definition.grid.size, f"{done:,} of {definition.grid.size:,} sets")

        with _workers(home, options.master, tick_set.manifest.rows, progress) as workers:
            run_sweep(workers, tick_set, definition, store, report_progress)


@contextmanager
def _workers(home: Path, master: str, rows: int, progress: Progress) -> Iterator[SweepWorkers]:
    """Return who detects and trades: this process and its forks, unless a cluster is named or the rows are so many that
    Spark's start pays. Raises CannotStartError, CepCannotStartError."""
    cores = local_cores(master)
    if cores is not None and rows <= MOST_ROWS_HERE:
        yield SweepWorkers(ThisProcess(), ForkedWorkers(cores))
        return
    with spark_workers(home, master, progress) as workers:
        yield SweepWorkers(workers, workers)


def _report(table: SweepTable, json_file: Path | None, echo: Echo) -> int:
    if json_file is not None:
        write_atomically(json_file, json.dumps(sweep_json(table), indent=2).encode())
    for line in sweep_lines(table):
        echo(line)
    return 0 if all(result.is_balanced for result in table.results) else 1


def _table(store: SweepStore) -> SweepTable:
    definition = store.definition()
    tick_set = open_tick_set(definition.tick_set)
    manifest = tick_set.manifest
    spans: tuple[Span, ...] = ()
    if definition.folds is not None:
        spans = spans_of(manifest.start_time, manifest.end_time, definition.folds)
    missing = _sets_missing(store, definition)
    table = table_of_sweep(definition, manifest.settlement_currency, store.results(), missing, spans)
    return replace(table, bars=bars_words(spacing_of(tick_set)))


def _sets_missing(store: SweepStore, definition: SweepDefinition) -> int:
    return sum(len(definition.sets_of(chunk)) for chunk in store.missing(definition))


def _backtest_options(options: SweepOptions) -> BacktestOptions:
    """Return the options that are not varied."""
    return BacktestOptions(
        names=options.names,
        values=options.values,
        fee_bps=options.fee_bps,
        latency_ms=options.latency_ms,
        seed=options.seed,
        transfers=options.transfers,
    )


def _compared(versions: dict[str, str]) -> dict[str, str]:
    return {PROGRAM: versions[PROGRAM]}


def _name_of(tick_set: TickSet, grid: Grid, parameters: Parameters, folds: int | None) -> str:
    """Return a name derived from the request, so that the same command resumes its own sweep."""
    terms = parameters.cycles
    request = repr((grid, replace(parameters, cycles=None), folds))
    if terms is not None:
        # a set has another order in each process
        request += repr((terms.max_legs, sorted(terms.within), sorted(terms.across)))
    # the log folders of all sessions have the same name
    name = tick_set.manifest.session_id or tick_set.folder.name
    return f"{name[:80]}-{hashlib.blake2b(request.encode(), digest_size=4).hexdigest()}"
