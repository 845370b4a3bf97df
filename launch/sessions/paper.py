"""`arbitrage paper`: the whole system on one machine, on simulated exchanges, until it is stopped."""

import asyncio
import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from exchanges.simulated_markets import simulated_taker_fees, taker_fees
from launch.apps.configured import check_configured, publishing
from launch.config.configuration import Configuration, first_settings
from launch.config.configured_entries import ccxt_id, session_entries
from launch.config.notice_destinations import configured_destinations
from launch.config.session_options import PaperOptions, SessionOptions
from launch.config.shared_books import shared_book_notes
from launch.config.transfers import session_transfers
from launch.config.watched_cycles import chosen_cycles, cycle_notes
from launch.errors import CannotStartError
from launch.sessions.backtest_runner import publish_tick_sets, with_backtests
from launch.sessions.chosen_markets import chosen_markets
from launch.sessions.counters import SessionCounters
from launch.sessions.entry_markets import entry_markets, has_own_names
from launch.sessions.shutdown import activity_of, finish_trading, report, retry_while_down
from launch.sessions.summary import Activity
from launch.sessions.terminal.page_browser import open_page
from launch.sessions.terminal.start_progress import drawn_start
from launch.setup.account_users import check_accounts_alone
from launch.setup.data_dir import RUN_FILE, check_writable, ready_file, write_atomically
from launch.setup.data_layout import database_name, set_aside_other_layout
from launch.setup.login_files import session_logins
from launch.supervisor.ctrl_c import stop_event, stopped_or_after, unless_stopped
from launch.supervisor.disk_watch import DiskWatch, check_room
from launch.supervisor.ports import claim_web_port
from launch.supervisor.process_plan import ACCOUNTS, own_processes, service_processes
from launch.supervisor.rules_watch import run_rules_watch
from launch.supervisor.slow_steps import reported_if_slow
from launch.supervisor.supervisor import Supervised, Supervisor
from launch.supervisor.trade_retention import run_retention
from market.decide.settings import Settings
from market.instruments.markets import Market
from pricefeeds.recording.feed_recorder import MEGABYTE, recorded_bytes, recordings_folder
from runtime.clock import wall_now
from runtime.tasks import run_all
from session.session import ExchangeReach, PageTerms, Services, Session, SimulatedTerms, Upkeep
from session.simulated_market import MarketName, SimulatedMarket
from store.mongo.store import open_store
from streams.broker.embedded_broker import free_ports
from ui.auth.api_keys import ensure_api_key

SETTLEMENT_CURRENCY = "USD"

TRADING = {
    "paper": "trading on paper",
    "public": "trading on paper at live prices",
    "sandbox": "trading in the exchanges' sandboxes",
    "live": "TRADING FOR REAL, with money",
}

ENDING = "ending: nothing new is traded; what is open ends, the ledger is checked, then every part is stopped"

EXCHANGE_SECONDS = 60.0
"""Once all else is ready, a session starts without an exchange that does not answer for so long."""

Echo = Callable[[str], None]


async def run_paper(home: Path, options: PaperOptions, config: Configuration, echo: Echo) -> int:
    """Trade on simulated exchanges. Raises CannotStartError if the configuration means others."""
    check_simulated(config)
    return await run_session(paper_session(home, options, config), paper_settings(config), options, config, echo)


async def run_session(
    session: Session, settings: Settings, options: SessionOptions, config: Configuration, echo: Echo
) -> int:
    """Start everything, trade until stopped, check the ledger. Returns exit code 0 only if it reconciles."""
    notices = configured_destinations(config.notices, os.environ)
    session = replace(
        session,
        upkeep=replace(
            session.upkeep, notices=notices, disk=config.disk.bounds, keep_trades_days=config.keep_trades_days
        ),
    )
    check_configured(session, config)
    check_room(session)
    if options.json is not None:
        check_writable(options.json)
    if options.report is not None:
        check_writable(options.report, "--report")
    claim_web_port(session.page.host, session.page.port)
    for note in (*cycle_notes(config, session), *shared_book_notes(session)):
        echo(note)
    moved = set_aside_other_layout(session.home)
    if moved is not None:
        echo(moved)
    with session_logins(session, config, os.environ) as own_session:
        return await _run(own_session, settings, options, config, echo)


async def _run(session: Session, settings: Settings, options: SessionOptions, config: Configuration, echo: Echo) -> int:
    started, home = wall_now(), session.home
    services = await service_processes(session, config, settings, echo)
    write_atomically(home / RUN_FILE, session.to_json())
    ready_file(home, ACCOUNTS).unlink(missing_ok=True)
    names = tuple(part.name for part in services)
    parts = [*services, *own_processes(session, names, fed=True, bots=config.bots_per_exchange, config=config)]
    async with publishing(session, config, echo):
        return await trade(session, Supervisor(home, parts, echo, session), started, options, echo)


async def trade(
    session: Session,
    supervisor: Supervised,
    started: int,
    options: SessionOptions,
    echo: Echo,
    regions: Sequence[Session] = (),
) -> int:
    """Run these processes until stopped or for the time that was ordered, then end the session. Returns the exit code.
    `regions`: the sessions of all that have a log, where `session` is the first of several."""
    home, key_file = session.home, ensure_api_key(session.home)
    recorded = [] if session.upkeep.recordings_mb is None else list(regions) or [session]
    meter, stopped = SessionCounters(session), stop_event()
    disk = DiskWatch(session, stopped.set, echo)
    await supervisor.start()
    beside = [asyncio.create_task(disk.run()), asyncio.create_task(run_retention(session, echo))]
    beside.append(asyncio.create_task(run_rules_watch(session, os.environ)))
    try:
        await unless_stopped(_all_ready(session, supervisor, meter, options, echo), stopped)
        echo(f"{TRADING[session.mode]}: {session.page.url}   (API key: {key_file}; Ctrl-C stops everything)")
        for one in recorded:
            echo(f"recording feeds and log in {recordings_folder(one.home) / session.session_id}")
        await with_backtests(session, stopped_or_after(stopped, options.seconds))
        # what is summed at the end stays where it is
        beside[1].cancel()
        # from here on it is a second Ctrl-C
        stopped.clear()
        activity = await _closed(session, meter, supervisor, started, echo, stopped)
        await _end_logs(recorded, started, echo)
    finally:
        for task in beside:
            task.cancel()
        await meter.stop()
        await supervisor.stop()
        (home / RUN_FILE).unlink(missing_ok=True)
    _say_how_to_verify(session, _finished(recorded, echo), echo)
    code = report(activity, options.json, echo)
    _write_page(session, activity, started, options.report, echo)
    return max(code, int(disk.has_stopped))


def _say_how_to_verify(session: Session, finished: Sequence[bool], echo: Echo) -> None:
    if finished and all(finished):
        echo(f"verify this session with: arbitrage replay --verify {session.session_id}")


def _write_page(session: Session, activity: Activity, started: int, path: Path | None, echo: Echo) -> None:
    if path is None:
        return
    # charts cost a second to import, and 40 MB
    from launch.sessions.terminal.session_page import session_page  # noqa: PLC0415

    write_atomically(path, session_page(session, activity, started).encode())
    echo(f"report: {path}")


async def _all_ready(
    session: Session, supervisor: Supervised, meter: SessionCounters, options: SessionOptions, echo: Echo
) -> None:
    async def count() -> None:
        # networks of regions come with their parts: before, packets to them would leave this machine
        await supervisor.ready_of(tuple({"kafka"} & set(supervisor.names)))
        await meter.start()

    async def report_address() -> None:
        """Print the page's address at once: it is ready long before Spark is."""
        await supervisor.ready_of(("ui",))
        is_shown = options.browser and open_page(session.page.url)
        done = "opened in your browser" if is_shown else "open"
        echo(f"{done}: {session.page.url}; trading begins once all is ready, Spark last")

    async def publish_known_tick_sets() -> None:
        # until MongoDB is ready, its own process sets the database up
        await supervisor.ready_of(tuple({"mongodb"} & set(supervisor.names)))
        await publish_tick_sets(session)

    async def check_accounts() -> None:
        """Check the accounts before any bot runs; all bots wait for it. Our own orders are known once the books are."""
        if session.mode in ("sandbox", "live"):
            await supervisor.ready_of(tuple({"mongodb"} & set(supervisor.names)))
            await check_accounts_alone(session, os.environ, echo)
            write_atomically(ready_file(session.home, ACCOUNTS), b"checked")

    # not a TaskGroup: a failed start must raise one error, not a group of one
    async with drawn_start(session.home, lambda: supervisor.names, echo):
        await run_all(
            count(),
            supervisor.all_ready(exchange_seconds=EXCHANGE_SECONDS),
            report_address(),
            publish_known_tick_sets(),
            check_accounts(),
        )
    meter.reset()


async def _closed(
    session: Session, meter: SessionCounters, supervisor: Supervised, started: int, echo: Echo, stopped: asyncio.Event
) -> Activity:
    echo(ENDING)

    async def close() -> Activity:
        async with await open_store(session) as store:
            await finish_trading(store, session, supervisor.idle_exchanges(), echo, stopped)
            counted = activity_of(store, session, meter, supervisor.restarts, started)
            return await reported_if_slow(counted, lambda: "adding up the session's trades", echo)

    return await retry_while_down(close, echo=echo)


def paper_session(home: Path, options: PaperOptions, config: Configuration) -> Session:
    """Return the session. Raises CannotStartError for unknown exchanges, too few of them, or a tape that cannot drive
    them."""
    kafka_port, mongodb_port, exchanges_port = free_ports(3)
    name = options.market or config.market
    # neither a storm nor a tape has prices for crosses
    has_crosses = name != "storm" and options.tape is None
    markets = named_markets(config.exchanges, config if has_crosses else without_cycles(config))
    return Session(
        session_id=uuid.uuid4().hex,
        started_at=wall_now(),
        mode="paper",
        home=home,
        services=Services(
            kafka=config.kafka or f"127.0.0.1:{kafka_port}",
            mongodb=config.mongodb or f"mongodb://127.0.0.1:{mongodb_port}/?replicaSet=rs0",
            database=database_name("paper"),
            partitions=config.partitions,
        ),
        markets=markets,
        cycles=chosen_cycles(config, markets, SETTLEMENT_CURRENCY),
        standby_assets=config.standby_assets,
        settlement_currency=SETTLEMENT_CURRENCY,
        simulated=SimulatedTerms(
            url=f"http://127.0.0.1:{exchanges_port}",
            rate_limits=config.rate_limits,
            market=_simulated_market(home, name, options.tape, markets),
            networks=config.transfers.networks,
        ),
        reach=_reach(config),
        page=PageTerms(
            host=config.bind, port=config.port if options.port is None else options.port, access=config.access
        ),
        seed=options.seed if options.seed is not None else config.seed,
        stale_after_ms=config.feeds.stale_after_ms,
        upkeep=Upkeep(recordings_mb=recordings_limit_mb(home, options, config)),
    )


def _reach(config: Configuration) -> ExchangeReach:
    return ExchangeReach(
        entries=session_entries(config, "paper"),
        transfers=session_transfers(config.transfers),
        transfer_rules=config.transfers.rules(is_live=False),
    )


def without_cycles(config: Configuration) -> Configuration:
    return config.model_copy(update={"cycles": None})


def _simulated_market(home: Path, name: MarketName, tape: str | None, markets: Sequence[Market]) -> SimulatedMarket:
    """Return the market. Raises CannotStartError if the tape cannot drive it."""
    if tape is None:
        return SimulatedMarket(name)
    # as below: Arrow takes 40 MB, and stays for as long as the session
    from launch.sessions.recorded_tape import tape_driven  # noqa: PLC0415

    return tape_driven(home, name, tape, markets)


async def _end_logs(recorded: Sequence[Session], started: int, echo: Echo) -> None:
    if recorded:
        from launch.sessions.recording import end_logs  # noqa: PLC0415

        await end_logs(recorded, started, echo)


def _finished(recorded: Sequence[Session], echo: Echo) -> list[bool]:
    """Return of each whether its recording is complete."""
    if not recorded:
        return []
    from launch.sessions.recording import finish_recording  # noqa: PLC0415

    return [finish_recording(one, echo) for one in recorded]


def recordings_limit_mb(home: Path, options: SessionOptions, config: Configuration) -> int | None:
    """Return megabytes; None if nothing is recorded. Raises CannotStartError if the limit is reached already."""
    if not (options.record or config.record):
        return None
    folder = recordings_folder(home)
    used = recorded_bytes(folder)
    if used >= config.recordings_mb * MEGABYTE:
        raise CannotStartError(
            f"{folder} holds {used // MEGABYTE} MB of recordings, and `recordings_mb` is {config.recordings_mb}: "
            "delete some of them, raise the limit, or start without recording."
        )
    return config.recordings_mb


def check_paper(config: Configuration) -> None:
    """Check what needs no process, before the data folder is locked and so also beside a running session. Raises
    CannotStartError."""
    check_simulated(config)
    named_markets(config.exchanges, config)
    session_entries(config, "paper")
    paper_settings(config)
    session_transfers(config.transfers)


def check_simulated(config: Configuration) -> None:
    """Raise CannotStartError if any exchange is configured to be real."""
    for name, exchange in config.exchange.items():
        if exchange.mode != "simulated":
            raise CannotStartError(
                f'[exchange.{name}] mode = "{exchange.mode}" is not paper trading; start it with `arbitrage live`.'
            )
        if exchange.url is not None:
            raise CannotStartError(f"[exchange.{name}] url is only for real exchanges; simulated ones have no url.")
    if config.paper.balances:
        raise CannotStartError(
            "[paper.balances] is only for accounts at live prices; simulated exchanges set their own balances."
        )


def named_markets(names: tuple[str, ...], config: Configuration) -> tuple[Market, ...]:
    """Return the markets, also of exchanges that have a name of their own, or are not simulated. Raises
    CannotStartError."""
    if has_own_names(names, config):
        return entry_markets(names, config, SETTLEMENT_CURRENCY)
    return chosen_markets(names, config, SETTLEMENT_CURRENCY)


def paper_settings(config: Configuration) -> Settings:
    """Return the settings of a new data folder. Raises CannotStartError for values out of range."""
    enabled = config.exchanges or tuple(taker_fees())
    simulated = {name: simulated_taker_fees().get(ccxt_id(config, name)) for name in (*taker_fees(), *enabled)}
    fees = {name: fee for name, fee in simulated.items() if fee is not None}
    return first_settings(config, {"enabled_exchanges": enabled, "taker_fees": fees})
