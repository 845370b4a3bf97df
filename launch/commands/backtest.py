"""`arbitrage backtest`: detection and the bots' own decisions on recorded ticks, with a report."""

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from backtest.detect.workers import MOST_ROWS_HERE, ThisProcess, Workers
from backtest.report.result_document import result_document
from backtest.report.result_lines import result_lines
from backtest.report.trade_files import trades_file
from backtest.requested_backtest import RequestedBacktest, parameters_for
from backtest.result.backtest_result import BacktestResult
from backtest.result.quote_ages import late_words
from backtest.run import ADDED_MS, run_backtest
from backtest.simulate.trade_simulation import BacktestError
from cep.errors import CepCannotStartError
from exchanges.catalogue import known_transfers
from launch.commands.options.fee_tiers import fee_tiers_of
from launch.config.cycles import CyclesConfiguration, cycle_terms
from launch.errors import CannotStartError, LaunchError
from launch.sessions.tick_set_names import named_set
from launch.setup.data_dir import backtest_log, check_writable, write_atomically
from launch.setup.prerequisites import checked_java
from launch.supervisor.backtest_progress import Progress
from launch.supervisor.ctrl_c import Stopping
from market.accounting.transfer_planning import TransferRules
from market.accounting.transfer_terms import TransferTerms
from market.money import text_of
from market.validation_messages import error_text
from runtime.linux_calls import usable_cores
from store.records.backtest_requests import BacktestFigures
from tick_sets.errors import ImportRejectedError
from tick_sets.sets.exchange_times import feed_delays

Echo = Callable[[str], None]

EVERY = "*"
"""In place of an exchange's name: all exchanges that are not named."""

_LOCAL = re.compile(r"local(?:\[(\*|[0-9]{1,4})(?:,[0-9]+)?\])?")
"""Spark's names of this machine, with cores and the failures of a task that are borne."""

_SAMPLES = TypeAdapter(dict[str, tuple[float, ...]])
_FIGURES = TypeAdapter(BacktestFigures)


@dataclass(frozen=True, slots=True)
class BacktestOptions:
    """What the command line said."""

    names: tuple[str, ...]
    """Name of a tick set, a folder, or files."""
    master: str = "local[*]"
    values: tuple[str, ...] = ()
    """`name=value` each."""
    fee_bps: Decimal | None = None
    latency_ms: tuple[str, ...] = ()
    """Milliseconds, or `exchange=milliseconds`."""
    latency_from: Path | None = None
    latency_from_feed: bool = False
    fee_tiers: tuple[str, ...] = ()
    """`exchange=volume:bps,volume:bps` each."""
    failed_percent: float = 0.0
    """Share of orders."""
    seed: int = 1
    follow_settings: bool = False
    config: Path | None = None
    cycles: CyclesConfiguration | None = None
    transfers: tuple[TransferTerms, ...] = field(default_factory=known_transfers)
    """`[cycles]` and `[transfers]` of the configuration; nothing else of it counts."""
    rebalancing: TransferRules | None = None
    rate_limits: bool = False
    json: Path | None = None
    report: Path | None = None
    trades: Path | None = None
    progress: Path | None = None
    figures: Path | None = None


def run_backtest_command(home: Path, options: BacktestOptions, echo: Echo) -> int:
    """Run the backtest. Returns exit code 0 if its ledger reconciles. Raises LaunchError in one sentence."""
    _check_outputs(options)
    with Stopping(backtest_log(home)):
        result = _result(home, options, echo)
    result = replace(result, command=reproducing_command(options))
    if options.json is not None:
        write_atomically(options.json, json.dumps(result_document(result), indent=2).encode())
    if options.report is not None:
        # charts cost a second to import
        from backtest.report.page import report_page

        write_atomically(options.report, report_page(result).encode())
    if options.trades is not None:
        as_json = options.trades.suffix == ".json"
        write_atomically(options.trades, trades_file(result.trading.arbitrages, as_json=as_json))
    if options.figures is not None:
        write_atomically(options.figures, _FIGURES.dump_json(result.figures))
    for line in result_lines(result):
        echo(line)
    echo("ledger reconciled" if result.trading.is_balanced else "LEDGER NOT RECONCILED")
    return 0 if result.trading.is_balanced else 1


def _check_outputs(options: BacktestOptions) -> None:
    """Raise CannotStartError if an output cannot be written, or two name the same file."""
    named_files: dict[Path, str] = {}
    for option in ("json", "report", "trades", "progress", "figures"):
        path: Path | None = getattr(options, option)
        if path is None:
            continue
        check_writable(path, f"--{option}")
        other = named_files.setdefault(path.resolve(), option)
        if other != option:
            raise CannotStartError(f"{path}: is named by both --{other} and --{option}; give each its own file.")


def _result(home: Path, options: BacktestOptions, echo: Echo) -> BacktestResult:
    try:
        with Progress(options.progress) as progress:
            progress("reading", 0.0)
            request = requested_backtest(options)
            tick_set = named_set(home, options.names)
            exchanges = dict.fromkeys(market.exchange for market in tick_set.manifest.markets)
            request = replace(request, cycles=cycle_terms(options.cycles, exchanges))
            parameters = replace(parameters_for(tick_set, request), rebalancing=options.rebalancing)
            for words in late_words(feed_delays(tick_set), parameters.settings.max_quote_age_ms):
                echo(f"warning: {words}")
            added = () if options.report is None else ADDED_MS
            with backtest_workers(home, options.master, tick_set.manifest.rows, progress) as workers:
                return run_backtest(workers, tick_set, parameters, added_ms=added, watch=progress)
    except (ImportRejectedError, CepCannotStartError, LookupError) as error:
        # only the message of a LookupError: its str() is quoted
        raise CannotStartError(f"{str(error.args[0]).rstrip('.')}.") from error
    except BacktestError as error:
        raise LaunchError(f"{error}.") from error


@contextmanager
def backtest_workers(home: Path, master: str, rows: int, progress: Progress) -> Iterator[Workers]:
    """Return who searches the ticks: this process, unless a cluster is named or the rows are so many that Spark's start
    pays. Raises CannotStartError, CepCannotStartError."""
    if local_cores(master) is not None and rows <= MOST_ROWS_HERE:
        yield ThisProcess()
        return
    with spark_workers(home, master, progress) as workers:
        yield workers


@contextmanager
def spark_workers(home: Path, master: str, progress: Progress) -> Iterator[Workers]:
    """Start Spark. Raises CannotStartError, CepCannotStartError."""
    # it costs seconds to import
    from backtest.detect.spark_workers import SparkWorkers
    from launch.supervisor.spark_command import quiet_session

    checked_java()
    # the workers run this interpreter, with what is installed beside it
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    progress("starting Spark", 0.0)
    with quiet_session(home, master) as spark:
        yield SparkWorkers(spark)


def local_cores(master: str) -> int | None:
    """Return how many cores of this machine a master means; None if it means none, or what only Spark can say."""
    named = _LOCAL.fullmatch(master)
    if named is None:
        return None
    cores = named[1] or "1"
    return usable_cores() if cores == "*" else max(int(cores), 1)


def requested_backtest(options: BacktestOptions) -> RequestedBacktest:
    """Return the request. Raises CannotStartError for a malformed `name=value` or an unreadable file of latencies."""
    return RequestedBacktest(
        values=dict(name_and_value(value, "--set-value") for value in options.values),
        fee_bps=options.fee_bps,
        latency_ms=dict(_latency(text) for text in options.latency_ms),
        latency_samples={} if options.latency_from is None else recorded_latencies(options.latency_from),
        latency_from_feed=options.latency_from_feed,
        fee_tiers=fee_tiers_of(options.fee_tiers),
        failed_share=options.failed_percent / 100,
        seed=options.seed,
        follow_logged_settings=options.follow_settings,
        rate_limits=options.rate_limits,
        transfers=options.transfers,
    )


def name_and_value(text: str, option: str) -> tuple[str, str]:
    """Return name and value of `name=value`. Raises CannotStartError."""
    name, mark, value = text.partition("=")
    if not (name and mark):
        raise CannotStartError(f"{option} {text}: is not of the form name=value.")
    return name.strip(), value.strip()


def recorded_latencies(path: Path) -> Mapping[str, tuple[float, ...]]:
    """Return exchange (or `*`) → latency samples in milliseconds, from a JSON file. Raises CannotStartError."""
    try:
        samples = _SAMPLES.validate_json(path.read_bytes())
    except OSError as error:
        raise CannotStartError(f"{path}: cannot be read ({error.strerror}).") from error
    except ValidationError as error:
        raise CannotStartError(
            f'{path}: is not a JSON object of exchanges and milliseconds, such as {{"kraken": [41.5, 60]}} '
            f"({error_text(error, 'the document')})."
        ) from error
    lacking = [exchange for exchange, values in samples.items() if not values]
    if lacking or not samples:
        raise CannotStartError(f"{path}: has no latency{f' for {lacking[0]}' if lacking else ''}.")
    return samples


def reproducing_command(options: BacktestOptions) -> str:
    """Return the command that reproduces this result, on any Spark master."""
    given: list[tuple[str, str | None]] = [
        *(("--set-value", value) for value in options.values),
        ("--fee-bps", None if options.fee_bps is None else text_of(options.fee_bps)),
        *(("--latency-ms", latency) for latency in options.latency_ms),
        ("--latency-from", None if options.latency_from is None else str(options.latency_from)),
        *(("--fee-tiers", tiers) for tiers in options.fee_tiers),
        ("--failed-percent", f"{options.failed_percent:g}" if options.failed_percent else None),
        ("--config", None if options.config is None else str(options.config)),
    ]
    words = ["arbitrage", "backtest", *options.names]
    for option, value in given:
        words += [] if value is None else [option, value]
    words += ["--latency-from-feed"] if options.latency_from_feed else []
    words += ["--follow-settings"] if options.follow_settings else []
    words += ["--rate-limits"] if options.rate_limits else []
    words += [] if options.rebalancing is None else ["--transfers"]
    words += ["--seed", str(options.seed)]
    words += [] if options.report is None else ["--report", options.report.name]
    return shlex.join(words)


def _latency(text: str) -> tuple[str, float]:
    name, number = name_and_value(text, "--latency-ms") if "=" in text else (EVERY, text)
    try:
        return name, float(number)
    except ValueError:
        raise CannotStartError(f"--latency-ms {text}: {number!r} is not a number of milliseconds.") from None
