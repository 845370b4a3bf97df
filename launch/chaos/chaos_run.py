"""`arbitrage chaos`: the whole system under blows that a seed decides, then an audit against the exchanges' books.

It works in a data folder of its own, emptied at each start: whatever a user trades on paper is left alone.
"""

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from launch.chaos.audit_records import Violation
from launch.chaos.books_audit import account_of, audited
from launch.chaos.chaos_report import AuditReport, ChaosRun, ordeal_document, ordeal_lines
from launch.chaos.chaos_schedule import schedule_of
from launch.chaos.fault_injector import FaultInjector
from launch.chaos.settings_tuner import SettingsTuner
from launch.config.configuration import Configuration
from launch.errors import CannotStartError, LaunchError
from launch.sessions.live import own_home
from launch.sessions.paper import PaperOptions, Say, paper_session, paper_settings
from launch.sessions.shutdown import until, with_the_store_back
from launch.setup.data_dir import check_writable, write_atomically
from launch.setup.login_files import supervisors_session
from launch.supervisor.interruptible_wait import stop_event, unless_stopped
from launch.supervisor.ports import claim_web_port
from launch.supervisor.process_plan import bot_parts, own_parts, service_parts
from launch.supervisor.supervisor import Supervisor, kill_leftovers
from market.decide.settings import Settings
from session.clock import SystemClock
from session.session import Session
from simulators.matching.exchange_journal import read_journal
from simulators.simulator_server import ACCOUNTS
from store.mongo.mongo_store import open_store
from store.queries.store_snapshot import read_snapshot
from streams.broker.embedded_broker import free_ports

FOLDER = "chaos"
BOTS = 2
"""Of each exchange, so that there is somebody to take over."""
RECOVERY_SECONDS = 180.0
SETTLE_SECONDS = 420.0
"""How long the system has, once it is left in peace, to find what was lost and put it right: as fast as the exchanges'
rate limits let it look. bitFlyer's five minutes, the longest window that a run can fill, and the two minutes that a bot
stays away at most after "too many", must be able to pass. It ends as soon as all is clean."""

PEACE_SECONDS = 10.0
"""Longer than any request may still be under way to an exchange."""

SETTINGS: dict[str, object] = {
    # many arbitrages, whether they pay or not, and limits that only a fault in the books would reach
    "emit_net_bps": -5.0,
    "min_net_bps": -5.0,
    "cool_down_ms": 200,
    "max_open_arbitrages": 12,
    "max_notional": 500,
    "max_daily_loss": 1_000_000,
    "max_exposure": 1_000_000,
    "max_currency_drift": 10_000_000,
    # an exchange that fails all the time would rest all the time
    "breaker_failures": 40,
    "breaker_pause_ms": 3_000,
    "reconcile_ms": 3_000,
}


@dataclass(frozen=True, slots=True)
class ChaosOptions:
    """What the command line said; `port` None: any free one."""

    seconds: float
    seed: int
    json: Path | None = None
    port: int | None = None


def chaos_home(home: Path) -> Path:
    """The folder of its own below the user's data folder, with the jars and the dashboard's key of that one."""
    own = home / FOLDER
    try:
        own_home(home, own)
    except OSError as error:
        raise CannotStartError(f"{own}: cannot be used as the data folder ({error.strerror}).") from error
    return own


async def run_chaos(home: Path, options: ChaosOptions, say: Say) -> int:
    """Start, strike, take back, audit; `home` is locked by the caller. Exit code 0 only without a violation.

    Raises CannotStartError, and LaunchError where MongoDB or the exchanges cannot be asked in the end.
    """
    if options.json is not None:
        check_writable(options.json)
    emptied(home)
    told = Configuration(bots_per_exchange=BOTS, settings=SETTINGS)
    (free,) = free_ports(1)
    session = paper_session(home, PaperOptions(None, None, options.port or free, options.seed), told)
    session, settings = supervisors_session(session, told, {}), paper_settings(told)
    claim_web_port(session.web_host, session.web_port)
    supervisor = await _prepared(session, told, settings, say)
    bots = [name for name, _, _ in bot_parts(session, BOTS)]
    schedule = schedule_of(options.seed, options.seconds, session.exchanges, bots)
    say(f"{len(schedule)} blows in {options.seconds:.0f} s, by seed {options.seed}:")
    for blow in schedule:
        say(f"  {blow.at:7.2f} s  {blow.told}")
    tuner = SettingsTuner(session, settings)
    blows = FaultInjector(session, supervisor, tuner, say)
    stopped = stop_event()
    await supervisor.start()
    try:
        await unless_stopped(_started(supervisor), stopped)
        say(f"all ready, the blows begin: http://{session.web_host}:{session.web_port}")
        await unless_stopped(blows.carry_out(schedule), stopped)
        finding = await unless_stopped(_settled(session, supervisor, blows), stopped)
        faults = {**blows.dealt, **await blows.struck()}
    finally:
        await supervisor.stop()
        (home / "run.json").unlink(missing_ok=True)
    rest = tuner.by_rest
    return report(
        ChaosRun(options.seed, options.seconds, schedule, faults, finding, supervisor.restarts, rest), options, say
    )


def report(ordeal: ChaosRun, options: ChaosOptions, say: Say) -> int:
    """Say what happened, write the document; the exit code."""
    if options.json is not None:
        write_atomically(options.json, json.dumps(ordeal_document(ordeal), indent=2).encode())
    for line in ordeal_lines(ordeal):
        say(line)
    return 1 if ordeal.finding.violations else 0


def emptied(home: Path) -> None:
    """Nothing of the run before is left, but for the lock and what other folders have as well."""
    kill_leftovers(home)
    for path in home.iterdir():
        if path.name == "lock" or path.is_symlink():
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


async def _prepared(session: Session, told: Configuration, settings: Settings, say: Say) -> Supervisor:
    services = await service_parts(session, told, settings)
    write_atomically(session.home / "run.json", session.to_json())
    names = tuple(part.name for part in services)
    return Supervisor(session.home, [*services, *own_parts(session, names, fed=True, bots=BOTS)], say, session)


async def _started(supervisor: Supervisor) -> None:
    try:
        await supervisor.all_ready()
    except LaunchError as error:
        raise CannotStartError(str(error)) from error


async def _settled(session: Session, supervisor: Supervisor, blows: FaultInjector) -> AuditReport:
    """What is still wrong once everything is alive, left in peace, and nothing new begins."""
    await blows.take_back()
    lost = await not_recovered(supervisor)
    # it trades on meanwhile, and what is still under way to an exchange arrives
    await SystemClock().sleep(PEACE_SECONDS)

    async def stop_reservations() -> None:
        async with await open_store(session) as store:
            await store.stop_reservations()

    await with_the_store_back(stop_reservations)
    findings: list[AuditReport] = []

    async def is_clean() -> bool:
        finding = await found(session)
        findings.append(replace(finding, violations=(*lost, *finding.violations)))
        return not finding.violations

    await until(is_clean, SETTLE_SECONDS)
    return findings[-1]


async def not_recovered(supervisor: Supervisor, seconds: float = RECOVERY_SECONDS) -> tuple[Violation, ...]:
    """Whether a part is not ready again within so many seconds."""
    try:
        await supervisor.all_ready(seconds)
    except LaunchError as error:
        return (Violation("not_recovered", str(error)),)
    return ()


async def found(session: Session) -> AuditReport:
    """An audit of what the journals and the store say now. Raises LaunchError where MongoDB stays away."""
    snapshot = await with_the_store_back(lambda: read_snapshot(session))
    folder = session.home / ACCOUNTS
    accounts = [account_of(name, read_journal(folder / f"{name}.jsonl")) for name in session.exchanges]
    return AuditReport(accounts, snapshot, audited(accounts, snapshot, session.markets))
