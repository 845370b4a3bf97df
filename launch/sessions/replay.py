"""`arbitrage replay`: recorded ticks through the same streams, Spark job and bots, on local paper accounts."""

import json
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from backtest.own_recordings import load_own_recording
from backtest.profile_recordings import Recording, load_recording
from backtest.replay_profiles import profile_for
from backtest.report.replay_report import ReplayOutcome, report_json, report_lines
from exchanges.catalogue import known_transfers
from launch.config.configuration import Configuration
from launch.errors import CannotStartError, LaunchError
from launch.sessions.counters import SessionCounters
from launch.sessions.shutdown import activity_of, finish_trading, retry_while_down, until
from launch.sessions.summary import Activity, ledger_differences
from launch.setup.data_dir import RUN_FILE, check_writable, write_atomically
from launch.setup.data_layout import database_name
from launch.setup.login_files import supervisors_session
from launch.supervisor.ctrl_c import stop_event, unless_stopped
from launch.supervisor.ports import claim_web_port
from launch.supervisor.process_plan import own_processes, service_processes
from launch.supervisor.supervisor import Supervisor
from market.time_units import MICROSECONDS
from pricefeeds.quote_replayer import run_replayer
from runtime.clock import wall_now
from session.session import ExchangeReach, LocalAccounts, PageTerms, ReplayTime, Services, Session
from store.mongo.store import open_store
from streams.broker.embedded_broker import free_ports
from tick_sets.errors import ImportRejectedError
from ui.auth.api_keys import ensure_api_key

TRADERS_START_SECONDS = 30
"""From the moment Spark is ready to the first recorded row: time for the bots to start."""
DRAIN_SECONDS = 300.0

Echo = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """Options of the command line; None means the profile's own value."""

    files: tuple[Path, ...]
    speed: float | None
    fee_bps: Decimal | None
    json: Path | None
    port: int | None


async def run_replay(home: Path, options: ReplayOptions, config: Configuration, echo: Echo) -> int:
    """Replay the files to their end and report. Returns exit code 0 if the ledger reconciles."""
    if options.json is not None:
        check_writable(options.json)
    recording = read_recording(options)
    session = replay_session(make_empty_home(home), recording, options, config)
    session = supervisors_session(session, Configuration(), {})
    claim_web_port(session.page.host, session.page.port)
    for line in recording.profile.all_assumptions:
        echo(f"assumed: {line}")
    stopped = stop_event()
    services = await service_processes(session, Configuration(), recording.profile.settings)
    supervisor = Supervisor(session.home, services, echo, session)
    await supervisor.start()
    try:
        session = await unless_stopped(_start_parts(session, supervisor, recording, options, config), stopped)
        outcome, balanced = await unless_stopped(_replay(session, supervisor, recording), stopped)
    finally:
        await supervisor.stop()
    return _report(recording, outcome, balanced, options.json, echo)


def read_recording(options: ReplayOptions) -> Recording:
    """Read the recording. Raises CannotStartError in one sentence for files that cannot be replayed."""
    try:
        if len(options.files) == 1 and options.files[0].is_dir():
            recording = load_own_recording(options.files[0])
        else:
            recording = load_recording(profile_for(options.files), options.files)
        if options.fee_bps is None:
            return recording
        return replace(recording, profile=recording.profile.with_fee_bps(options.fee_bps))
    except ImportRejectedError as error:
        raise CannotStartError(f"{error}.") from error


def make_empty_home(home: Path) -> Path:
    """Return the replay's own data folder, emptied: its log must hold only the recording. Jars and API key are
    shared."""
    key = ensure_api_key(home)
    folder = home / "replay"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "jars").symlink_to(home / "jars")
    (folder / key.name).symlink_to(key)
    return folder


def replay_session(home: Path, recording: Recording, options: ReplayOptions, config: Configuration) -> Session:
    kafka_port, mongodb_port = free_ports(2)
    session_id = uuid.uuid4().hex
    return Session(
        session_id=session_id,
        started_at=wall_now(),
        mode="replay",
        home=home,
        services=Services(
            kafka=f"127.0.0.1:{kafka_port}",
            mongodb=f"mongodb://127.0.0.1:{mongodb_port}/?replicaSet=rs0",
            database=database_name("replay"),
        ),
        markets=recording.markets,
        settlement_currency=recording.profile.settlement_currency,
        page=PageTerms(
            host=config.bind, port=config.port if options.port is None else options.port, access=config.access
        ),
        replay=_time_from(recording, 1.0, wall_now()),
        seed=config.seed,
        local_accounts=LocalAccounts(
            balances=recording.profile.paper_balances,
            latency_ms=config.paper.latency_ms,
            latency_spread=config.paper.latency_spread,
        ),
        reach=ExchangeReach(transfers=known_transfers()),
    )


async def _start_parts(
    session: Session, supervisor: Supervisor, recording: Recording, options: ReplayOptions, config: Configuration
) -> Session:
    """Start Spark, set the start of market time shortly after, then start the rest with it."""
    write_atomically(session.home / RUN_FILE, session.to_json())
    services = supervisor.names
    parts = own_processes(session, services, fed=False, config=config)
    supervisor.add(part for part in parts if part.name == "cep")
    await supervisor.all_ready()
    begin = wall_now() + TRADERS_START_SECONDS * MICROSECONDS
    speed = options.speed or recording.profile.default_speed
    session = replace(session, replay=_time_from(recording, speed, begin))
    write_atomically(session.home / RUN_FILE, session.to_json())
    supervisor.add(part for part in parts if part.name != "cep")
    await supervisor.all_ready()
    if wall_now() > begin:
        raise LaunchError("the bots were not ready when the recorded time began; start the replay again.")
    return session


async def _replay(session: Session, supervisor: Supervisor, recording: Recording) -> tuple[ReplayOutcome, bool]:
    started = wall_now()
    meter = SessionCounters(session)
    await meter.start()
    try:
        counts = await run_replayer(session, recording.rows())

        async def through() -> bool:
            return meter.ended_bases >= set(session.bases)

        if not await until(through, DRAIN_SECONDS):
            raise LaunchError(f"Spark did not process the log to its end within {DRAIN_SECONDS:.0f} s.")

        async def close() -> Activity:
            async with await open_store(session) as store:
                await finish_trading(store, session, supervisor.states.idle_exchanges())
                return await activity_of(store, session, meter, supervisor.restarts, started)

        activity = await retry_while_down(close)
    finally:
        await meter.stop()
    outcome = ReplayOutcome(
        opportunities=activity.opportunities,
        arbitrages=tuple(activity.arbitrages),
        rejections=activity.rejections,
        sent=counts.sent,
        speed=session.replay.speed if session.replay else 1.0,
        wall_seconds=(wall_now() - started) / MICROSECONDS,
    )
    return outcome, not ledger_differences(activity)


def _time_from(recording: Recording, speed: float, wall_start: int) -> ReplayTime:
    return ReplayTime(recording_start=recording.start_time, wall_start=wall_start, speed=speed)


def _report(recording: Recording, outcome: ReplayOutcome, balanced: bool, json_file: Path | None, echo: Echo) -> int:
    if json_file is not None:
        document = report_json(recording, outcome) | {"balanced": balanced}
        write_atomically(json_file, json.dumps(document, indent=2).encode())
    for line in report_lines(recording, outcome):
        echo(line)
    echo("ledger reconciled" if balanced else "LEDGER NOT RECONCILED")
    return 0 if balanced else 1
