"""`arbitrage app run`: stream apps on the streams of the running session, or over what was recorded."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from backtest.apps.recorded_log import KeptInput
from backtest.apps.recorded_messages import RecordedPartition
from backtest.apps.replay import replayed_in_spark
from backtest.detect.spark_failures import LOST, first_line
from backtest.verify.errors import CannotVerifyError
from cep.apps.engine.savepoints import Savepoint
from cep.apps.errors import AppError
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.resident.apps import TellEnd
from cep.errors import CepCannotStartError
from cep.run_log import shown_run_log
from launch.apps.files import apps_in
from launch.apps.region import REGION
from launch.apps.savepoints import savepoint_in, write_savepoint
from launch.dry_runs.recorded_app_log import recorded_folders, recorded_partitions
from launch.errors import CannotStartError, LaunchError
from launch.sessions.app_rows import AppRows, Echo, rows_to
from launch.sessions.live_apps import SPARK, kept_in_session, run_live_apps
from launch.sessions.recorded_sessions import region_of
from launch.setup.data_dir import backtest_log, check_writable, read_session
from launch.setup.login_files import running_session
from launch.supervisor.ctrl_c import Stopping
from launch.supervisor.spark_command import quiet_session
from store.errors import StoreError
from streams.errors import StreamError
from tick_sets.errors import ImportRejectedError

_REFUSALS = (
    AppError,
    CepCannotStartError,
    StreamError,
    StoreError,
    ImportRejectedError,
    CannotVerifyError,
    LookupError,
)


@dataclass(frozen=True, slots=True)
class AppRunOptions:
    files: tuple[Path, ...]
    replay: str | None = None
    json: Path | None = None
    seconds: float | None = None
    variables: tuple[tuple[str, str], ...] = ()
    terms: OperatorTerms = field(default_factory=OperatorTerms)
    savepoint: Path | None = None


def run_app_command(home: Path, options: AppRunOptions, echo: Echo) -> int:
    """Run the apps. Returns exit code 1 if one failed. Raises LaunchError in one sentence."""
    if options.json is not None:
        check_writable(options.json)
    if options.replay is not None and options.seconds is not None:
        raise CannotStartError("--seconds is for a running session; drop it, or drop --replay.")
    begins = _savepoint(options)
    region = _running_region(home) if options.replay is None else _recorded_region(home, options)
    sources, failed = apps_in(options.files, options.terms, options.variables, region), set[str]()

    def tell(source: AppSource, problem: str) -> None:
        failed.add(source.label)
        echo(f"{source.name} failed: {problem}")

    try:
        with Stopping(backtest_log(home)), rows_to(options.json, echo, sources) as rows:
            if options.replay is not None:
                _replay(home, sources, options.replay, rows, echo, tell)
            else:
                run_live_apps(home, sources, options.seconds, rows, echo, tell, begins)
    except _REFUSALS as error:
        raise CannotStartError(f"{str(error).rstrip('.')}.") from error
    except LOST as error:
        raise LaunchError(f"Spark ended the app: {first_line(str(error))}.") from error
    for source in sources:
        echo(f"{source.name}: {rows.summary_of(source.name)}")
    return 1 if failed else 0


def _savepoint(options: AppRunOptions) -> Savepoint | None:
    """Return the one to begin from. Raises CannotStartError."""
    if options.savepoint is None:
        return None
    if options.replay is not None or len(options.files) > 1:
        problem = "--from is for one app on the running session; drop it, or the other files and --replay."
        raise CannotStartError(problem)
    return savepoint_in(options.savepoint)


def save_app_command(home: Path, file: Path, options: AppRunOptions, echo: Echo) -> int:
    """Write a savepoint of an app of the running session. Raises LaunchError in one sentence."""
    session = running_session("apps")
    source, *_ = apps_in(options.files, options.terms, options.variables, _running_region(home))
    savepoint = kept_in_session(session, source)
    write_savepoint(savepoint, file)
    size = sum(map(len, savepoint.parts.values()))
    echo(f"{file}: {source.name}, version {source.version}, {len(savepoint.parts)} partitions, {size:,} bytes")
    return 0


def _running_region(home: Path) -> str | None:
    """Return the region; None without regions, and if no session runs: that is reported once the texts are right."""
    with suppress(CannotStartError):
        return read_session(home).place.region
    return None


def _recorded_region(home: Path, options: AppRunOptions) -> str | None:
    """Return the region whose log is replayed; None if the recorded session had none. Raises CannotStartError."""
    folders = recorded_folders(home, options.replay or "", dict(options.variables).get(REGION))
    return next((region for region in map(region_of, folders) if region is not None), None)


def _replay(home: Path, sources: Collection[AppSource], name: str, rows: AppRows, echo: Echo, tell: TellEnd) -> None:
    """Replay one app after the other; `tell` says why partitions ended early."""
    of_apps = [(source, _replayed_partitions(home, source, name)) for source in sources]
    with shown_run_log() as log_pipe, quiet_session(home, extra=SPARK) as spark:
        for source, partitions in of_apps:
            if any(isinstance(one, KeptInput) for one in partitions):
                echo(f"{name}: over the input log that was kept while {source.name} ran there, and no further")
            for message, problem in replayed_in_spark(spark, source, partitions, log_pipe):
                if problem:
                    tell(source, problem)
                else:
                    rows.add(message)


def _replayed_partitions(home: Path, source: AppSource, name: str) -> list[RecordedPartition]:
    partitions = recorded_partitions(home, source, name)
    # live, such an app runs in the first partition alone
    return partitions if source.is_keyed else partitions[:1]
