"""`arbitrage chaos`: runs the whole system under injected faults by a seed, then audits it against the exchanges.

A chaos run has its own data folder, emptied at each start; a user's paper session is not touched.
"""

import json
import shutil
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path

from exchanges.simulated_markets import taker_fees
from launch.chaos.account_operator import AccountOperator
from launch.chaos.audit.books import account_of, evidence_of, violations_of
from launch.chaos.audit.lateness import late_while_stopped
from launch.chaos.audit.records import Stopped, Violation
from launch.chaos.fault_injector import FaultInjector
from launch.chaos.report import AuditReport, ChaosResult, ChaosRun, chaos_document, chaos_lines
from launch.chaos.schedule import Injection, schedule_of
from launch.chaos.settings_tuner import SettingsTuner
from launch.config.configuration import Configuration
from launch.config.session_options import PaperOptions
from launch.errors import CannotStartError, LaunchError
from launch.sessions.paper import Echo, check_paper, paper_session, paper_settings
from launch.sessions.shutdown import retry_while_down, until
from launch.setup.data_dir import REGIONS, RUN_FILE, check_writable, write_atomically
from launch.setup.login_files import supervisors_session
from launch.setup.nested_home import make_nested_home
from launch.supervisor.ctrl_c import stop_event, unless_stopped
from launch.supervisor.ports import claim_web_port
from launch.supervisor.process_plan import bot_processes, own_processes, service_processes
from launch.supervisor.supervisor import Supervised, Supervisor, kill_leftovers
from market.decide.settings import Settings
from market.decide.thresholds import BOTH
from runtime.clock import SystemClock
from session.session import Session
from session.simulated_market import MarketName
from simulators.matching.exchange_journal import read_journal
from simulators.server import ACCOUNTS
from store.mongo.store import open_store
from store.queries.store_snapshot import read_snapshot
from streams.broker.embedded_broker import free_ports

FOLDER = "chaos"
BOTS = 2
"""Bots per exchange: one trades, the other is on standby."""
RECOVERY_SECONDS = 180.0
SETTLE_SECONDS = 420.0
"""How long the system has to recover after the last fault. It recovers as fast as the exchanges' rate limits allow, so
this covers bitFlyer's window of five minutes, which a run can fill, and the two minutes that a bot pauses at most after
"too many requests". The wait ends as soon as the audit finds no violation."""

PEACE_SECONDS = 10.0
"""Longer than any request to an exchange can still be in flight."""

EXIT_CODES: Mapping[ChaosResult, int] = {"no violations": 0, "violations": 1, "no result": 3}
"""Exit codes; 2: it could not start."""

SETTINGS: dict[str, object] = {
    # many arbitrages, profitable or not, and limits that only a wrong ledger would reach
    "emit_net_bps": -5.0,
    "min_net_bps": -5.0,
    "cool_down_ms": 200,
    "max_open_arbitrages": 12,
    "max_notional": 500,
    "max_daily_loss": 1_000_000,
    "max_exposure": 1_000_000,
    "max_currency_drift": 10_000_000,
    # an exchange with injected faults would be paused all the time
    "breaker_failures": 40,
    "breaker_pause_ms": 3_000,
    "reconcile_ms": 3_000,
}


@dataclass(frozen=True, slots=True)
class ChaosOptions:
    """Options of the command line; `port` None: any free port."""

    seconds: float
    seed: int
    json: Path | None = None
    port: int | None = None
    market: MarketName = "storm"
    config: Configuration = field(default_factory=Configuration)


def chaos_configuration(config: Configuration) -> Configuration:
    """Return the user's assets and exchanges under a chaos run's settings. Raises CannotStartError for what such a run
    cannot have."""
    check_paper(config)
    if config.kafka is not None or config.mongodb is not None:
        raise CannotStartError(
            "`kafka` or `mongodb` is set: a chaos run kills both, so it starts its own; remove them from its file."
        )
    settings = SETTINGS if config.cycles is None else SETTINGS | beside_cycles(config.exchanges or tuple(taker_fees()))
    return config.model_copy(update={"bots_per_exchange": BOTS, "settings": settings})


def beside_cycles(exchanges: Sequence[str]) -> dict[str, object]:
    """Return settings that leave cycles their share of the rate limits, and pairs only what pays: a transfer may cost
    no more than was realised."""
    pairs = (f"{one}{BOTH}{other}" for one, other in combinations(exchanges, 2))
    return {"min_net_bps": 2.0, "pair_thresholds": dict.fromkeys(pairs, 12.0)}


def chaos_home(home: Path) -> Path:
    """Return the chaos run's own folder below the user's data folder, with links to its jars and its API key."""
    own = home / FOLDER
    try:
        make_nested_home(home, own)
    except OSError as error:
        raise CannotStartError(f"{own}: cannot be used as the data folder ({error.strerror}).") from error
    return own


async def run_chaos(home: Path, options: ChaosOptions, echo: Echo) -> int:
    """Start, inject faults, clear them, audit; `home` is locked by the caller. Returns the exit code: 0 only without
    violations, in a run that traded. Raises CannotStartError, and LaunchError if MongoDB or the exchanges cannot be
    read in the end."""
    if options.json is not None:
        check_writable(options.json)
    empty_home(home)
    config = chaos_configuration(options.config)
    (free,) = free_ports(1)
    asked = PaperOptions(port=options.port or free, seed=options.seed, market=options.market)
    session = paper_session(home, asked, config)
    session, settings = supervisors_session(session, config, {}), paper_settings(config)
    claim_web_port(session.page.host, session.page.port)
    supervisor = await _prepared(session, config, settings, echo)
    bots = [name for name, _, _ in bot_processes(session, BOTS)]
    schedule = schedule_of(options.seed, options.seconds, tuple(session.accounts_at), bots)
    announce(schedule, options, echo)
    tuner = SettingsTuner(session, settings)
    injector, operator = FaultInjector(session, supervisor, tuner, echo), AccountOperator(session)
    stopped = stop_event()
    await supervisor.start()
    try:
        await unless_stopped(until_started(supervisor), stopped)
        echo(f"all ready, fault injection begins: {session.page.url}")
        async with operator.at_work():
            await unless_stopped(injector.run(schedule), stopped)
            audited = audited_at_rest(session, (supervisor,), injector, partial(_audit, session, injector))
            audit = await unless_stopped(audited, stopped)
        faults = {**injector.injected, **await injector.observed_faults()}
    finally:
        await supervisor.stop()
        (home / RUN_FILE).unlink(missing_ok=True)
    ran = ChaosRun(options.seed, options.seconds, schedule, faults, audit, supervisor.restarts, tuner.by_rest)
    return report(replace(ran, settled=operator.settled), options, echo)


def announce(schedule: Sequence[Injection], options: ChaosOptions, echo: Echo) -> None:
    """Print what will be injected."""
    echo(f"{len(schedule)} injected faults in {options.seconds:.0f} s, seed {options.seed}:")
    for injection in schedule:
        echo(f"  {injection.at:7.2f} s  {injection.description}")


def report(run: ChaosRun, options: ChaosOptions, echo: Echo) -> int:
    """Print the report and write the JSON document. Returns the exit code."""
    if options.json is not None:
        write_atomically(options.json, json.dumps(chaos_document(run), indent=2).encode())
    for line in chaos_lines(run):
        echo(line)
    return EXIT_CODES[run.result]


def empty_home(home: Path) -> None:
    """Delete the previous run's files, except the lock and the links to the user's data folder."""
    for own in (home, *(home / REGIONS).glob("*")):
        kill_leftovers(own)
    for path in home.iterdir():
        if path.name == "lock" or path.is_symlink():
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


async def _prepared(session: Session, config: Configuration, settings: Settings, echo: Echo) -> Supervisor:
    services = await service_processes(session, config, settings)
    write_atomically(session.home / RUN_FILE, session.to_json())
    names = tuple(part.name for part in services)
    return Supervisor(session.home, [*services, *own_processes(session, names, fed=True, bots=BOTS)], echo, session)


async def until_started(supervisor: Supervised) -> None:
    """Wait until all processes are ready. Raises CannotStartError if one does not become ready."""
    try:
        await supervisor.all_ready()
    except LaunchError as error:
        raise CannotStartError(str(error)) from error


async def audited_at_rest(
    session: Session,
    supervisors: Sequence[Supervisor],
    injector: FaultInjector,
    audit_now: Callable[[], Awaitable[AuditReport]],
) -> AuditReport:
    """Return the audit after recovery: faults cleared, processes ready, reservations stopped. It is repeated until it
    finds nothing, or for `SETTLE_SECONDS`. Raises LaunchError as `audit_now`."""
    await injector.clear()
    lost = [violation for supervisor in supervisors for violation in await not_recovered(supervisor)]
    # it goes on trading, and requests in flight to an exchange arrive
    await SystemClock().sleep(PEACE_SECONDS)

    async def stop_reservations() -> None:
        async with await open_store(session) as store:
            await store.stop_reservations()

    await retry_while_down(stop_reservations)
    # only the last one is kept: each has all documents of the session
    last = deque[AuditReport](maxlen=1)

    async def is_clean() -> bool:
        audit = await audit_now()
        last.append(replace(audit, violations=(*lost, *audit.violations)))
        return not audit.violations

    await until(is_clean, SETTLE_SECONDS)
    return last[0]


async def not_recovered(supervisor: Supervisor, seconds: float = RECOVERY_SECONDS) -> tuple[Violation, ...]:
    """Return a violation if a process is not ready again within `seconds`."""
    try:
        await supervisor.all_ready(seconds)
    except LaunchError as error:
        return (Violation("not_recovered", str(error)),)
    return ()


async def _audit(session: Session, injector: FaultInjector) -> AuditReport:
    return await audit_session(session, injector.stops_of_bots())


async def audit_session(session: Session, stops: Sequence[Stopped]) -> AuditReport:
    """Audit the journals against the store as they are now; `stops` of bots during the run.

    Raises LaunchError if MongoDB stays unavailable.
    """
    snapshot = await retry_while_down(lambda: read_snapshot(session))
    folder = session.home / ACCOUNTS
    accounts = [account_of(name, read_journal(folder / f"{name}.jsonl")) for name in session.exchanges]
    evidence = evidence_of(accounts, snapshot, session.markets, stops)
    return AuditReport(accounts, snapshot, violations_of(evidence), late_while_stopped(evidence))
