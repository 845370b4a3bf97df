"""What `arbitrage` can do. Exit codes: 0 fine, 1 failed, 2 cannot start; a mistake gets one sentence, no trace."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from functools import partial

from launch.commands.notices import add_notices, run_notices, run_notifier_process
from launch.commands.options.arguments import (
    add_apart,
    add_app,
    add_backtest,
    add_bot,
    add_cep,
    add_certificates,
    add_chaos,
    add_exchanges,
    add_feed,
    add_keys,
    add_markets,
    add_nothing,
    add_paper,
    add_raw_replay,
    add_region,
    add_replay,
    add_session,
    add_sweep,
)
from launch.commands.options.backup import backup_commands
from launch.commands.options.imports import add_imports, add_sets, run_imports, run_sets_command
from launch.commands.parser import CommandLine
from launch.config.configuration import Configuration, read_configuration
from launch.errors import CannotStartError, LaunchError
from launch.setup.data_dir import CERTIFICATES, bot_name, home_folder, locked, read_session
from launch.setup.login_files import running_session
from launch.setup.login_rights import SUPERVISOR
from launch.supervisor.process_main import Ready, run_process
from session.session import Session

BOT_SWITCH_SECONDS = 0.0005
"""How soon a thread of a bot gets the interpreter from its event loop. In `--market storm` both legs were sent within
66 ms of the opportunity at Python's 5 ms (p95, 88 trades), within 37 ms at this (79 trades)."""

WAN_ALONE = "--wan goes with --regions; name them, as in --regions us,eu,jp."

Command = tuple[str, str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]
"""Name, what its help says, what it takes, what it does."""
SessionEntry = Callable[[Session, Ready], Coroutine[object, object, None]]


def run_words(words: list[str]) -> int:
    """Exit code of the command that these words are."""
    arguments = parser_of_commands().parse_args(words)
    run_command: Callable[[argparse.Namespace], int] = arguments.run
    try:
        return run_command(arguments)
    except LaunchError as error:
        sys.stderr.write(f"arbitrage: {error}\n")
        return error.exit_code


def parser_of_commands() -> argparse.ArgumentParser:
    parser = CommandLine(prog="arbitrage", description="Cross-exchange crypto arbitrage: paper, backtest, live.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text, add_arguments, entry in _commands():
        command = commands.add_parser(name, help=text)
        add_arguments(command)
        command.set_defaults(run=entry)
    return parser


def _commands() -> tuple[Command, ...]:
    return (
        ("paper", "run the whole system and trade on paper", add_paper, _paper),
        ("live", "trade on real exchanges or in their sandboxes; needs API keys and the arm flag", add_session, _live),
        ("replay", "replay recorded ticks through the same streams, Spark job and bots", add_replay, _replay),
        ("backtest", "backtest on recorded ticks in Spark, without Kafka or MongoDB", add_backtest, _backtest),
        ("sweep", "backtest many parameter sets in one Spark job, with a walk-forward split", add_sweep, _sweep),
        ("import", "import third-party data into a tick set", add_imports, _imports),
        ("sets", "list, show, repair and remove tick sets", add_sets, _sets),
        ("raw-replay", "raw replay: recorded messages through today's feed code", add_raw_replay, _raw_replay),
        (
            "chaos",
            "chaos run: inject faults by a seed, then audit the ledger against the exchanges' records",
            add_chaos,
            _chaos,
        ),
        ("app", "check a stream app, test it, run it live or over recorded data", add_app, _app),
        ("apart", "describe and prepare a session whose parts are started one by one", add_apart, _apart),
        ("markets", "list what can be compared with what, and why something is not", add_markets, _markets),
        ("doctor", "check every prerequisite", add_nothing, _doctor),
        *backup_commands(echo),
        ("keys", "add, list and revoke API keys for REST and the dashboard", add_keys, _keys),
        (
            "certificates",
            "make certificates for Kafka and MongoDB on several machines",
            add_certificates,
            _certificates,
        ),
        ("region", "cut, slow, heal links between regions; set a clock off; kill a region", add_region, _region),
        ("exchanges", "run the simulated exchanges on their own", add_exchanges, _exchanges),
        ("feed", "run one exchange's price feed of the running session", add_feed, _feed),
        ("bot", "run one bot of the running session, active or on standby", add_bot, _bot),
        ("publisher", "run the settings publisher of the running session", add_nothing, _bridge),
        ("cep", "run the Spark job of the running session", add_cep, _cep),
        ("logrecorder", "run the log recorder of the running session", add_nothing, _logrecorder),
        ("carrier", "carry packets between the regions of the running session", add_nothing, _carrier),
        ("ui", "run REST and the dashboard of the running session", add_nothing, _ui),
        ("notifier", "run the notifier of the running session", add_nothing, lambda _: run_notifier_process()),
        ("notices", "test the notification destinations", add_notices, lambda arguments: run_notices(arguments, echo)),
    )


def _paper(arguments: argparse.Namespace) -> int:
    from launch.backup.migration import migrate_folder
    from launch.regions.network.user_network import run_in_own_network
    from launch.sessions.paper import PaperOptions, check_paper, run_paper
    from launch.sessions.public_paper import check_public, run_public
    from launch.sessions.regional_paper import run_regional

    options = PaperOptions(
        arguments.seconds,
        arguments.json,
        arguments.port,
        arguments.seed,
        arguments.record,
        arguments.market,
        arguments.tape,
        arguments.regions,
        arguments.wan,
    )
    config = read_configuration(arguments.config, os.environ)
    home, run_session = home_folder(), run_public if config.is_public else run_paper
    if options.has_delays and not options.regions:
        raise CannotStartError(WAN_ALONE)
    if options.regions:
        first = config.port if options.port is None else options.port
        ports = range(first, first + len(options.regions))
        listeners = run_in_own_network(ports) if options.has_delays else ()
        run_session = partial(run_regional, listeners=listeners)
    check_public(home, config) if config.is_public else check_paper(config)
    with locked(home):
        if not options.regions:
            migrate_folder(home, "public" if config.is_public else "paper", echo)
        return asyncio.run(run_session(home, options, config, echo))


def _live(arguments: argparse.Namespace) -> int:
    from launch.backup.migration import migrate_folder
    from launch.sessions.live import check_live, real_mode, run_live
    from launch.sessions.paper import PaperOptions

    options = PaperOptions(arguments.seconds, arguments.json, arguments.port, None, arguments.record)
    home, config = home_folder(), read_configuration(arguments.config, os.environ)
    check_live(home, config, os.environ)
    with locked(home):
        migrate_folder(home, real_mode(config), echo)
        return asyncio.run(run_live(home, options, config, os.environ, echo))


def _app(arguments: argparse.Namespace) -> int:
    from launch.commands.app import run_app
    from launch.regions.network.user_network import enter_network_of

    if arguments.work == "run" and arguments.replay is None:
        enter_network_of(home_folder())
    return run_app(arguments, echo)


def _apart(arguments: argparse.Namespace) -> int:
    from launch.commands.apart import ApartOptions, make_apart, prepare_apart

    config = read_configuration(arguments.config, os.environ)
    if arguments.work == "prepare":
        return asyncio.run(prepare_apart(running_session(SUPERVISOR), config, arguments.users, echo))
    options = ApartOptions(
        arguments.folder,
        arguments.exchanges,
        arguments.kafka_protocol,
        arguments.kafka_mechanism,
        arguments.owner_mechanism or arguments.kafka_mechanism,
        arguments.kafka_ca,
        arguments.mongodb_ca,
        tuple(arguments.region),
    )
    return make_apart(options, config, echo)


def _markets(arguments: argparse.Namespace) -> int:
    from launch.commands.markets import MarketsOptions, list_markets

    config = read_configuration(arguments.config, os.environ)
    return list_markets(MarketsOptions(arguments.asset, arguments.exchange), config, echo)


def _replay(arguments: argparse.Namespace) -> int:
    if arguments.verify is not None:
        from launch.commands.verify import verify_session

        return verify_session(home_folder(), arguments.verify, arguments.files, echo)
    from launch.sessions.replay import ReplayOptions, run_replay

    if not arguments.files:
        raise CannotStartError("replay: name recorded files, or a recorded session with --verify.")
    options = ReplayOptions(tuple(arguments.files), arguments.speed, arguments.fee_bps, arguments.json, arguments.port)
    home = home_folder()
    with locked(home):
        return asyncio.run(run_replay(home, options, read_configuration(None, os.environ), echo))


def _imports(arguments: argparse.Namespace) -> int:
    return run_imports(arguments, echo)


def _sets(arguments: argparse.Namespace) -> int:
    return run_sets_command(arguments, echo)


def _backtest(arguments: argparse.Namespace) -> int:
    from launch.commands.backtest import BacktestOptions, run_backtest_command

    options = BacktestOptions(
        names=tuple(arguments.names),
        master=arguments.master,
        values=tuple(arguments.set_value),
        fee_bps=arguments.fee_bps,
        latency_ms=tuple(arguments.latency_ms),
        latency_from=arguments.latency_from,
        latency_from_feed=arguments.latency_from_feed,
        fee_tiers=tuple(arguments.fee_tiers),
        failed_percent=arguments.failed_percent,
        seed=arguments.seed,
        follow_settings=arguments.follow_settings,
        **{name: getattr(arguments, name) for name in ("json", "report", "trades", "progress", "figures")},
    )
    return run_backtest_command(home_folder(), options, echo)


def _sweep(arguments: argparse.Namespace) -> int:
    from launch.commands.sweep import SweepOptions, run_sweep_command

    options = SweepOptions(
        names=tuple(arguments.names),
        grid=tuple(arguments.grid),
        ranges=tuple(arguments.range),
        draws=arguments.random,
        seed=arguments.seed,
        folds=arguments.walk_forward,
        values=tuple(arguments.set_value),
        fee_bps=arguments.fee_bps,
        latency_ms=tuple(arguments.latency_ms),
        master=arguments.master,
        name=arguments.name,
        resume=arguments.resume,
        show=arguments.show,
        json=arguments.json,
    )
    return run_sweep_command(home_folder(), options, echo)


def _raw_replay(arguments: argparse.Namespace) -> int:
    from launch.commands.raw_replay import raw_replay_folder

    return raw_replay_folder(arguments.folder, echo)


def _chaos(arguments: argparse.Namespace) -> int:
    from launch.chaos.run import ChaosOptions, chaos_configuration, chaos_home, run_chaos

    config = Configuration() if arguments.config is None else read_configuration(arguments.config, os.environ)
    options = ChaosOptions(arguments.seconds, arguments.seed, arguments.json, arguments.port, arguments.market, config)
    chaos_configuration(config)
    home = chaos_home(home_folder())
    if arguments.wan and not arguments.regions:
        raise CannotStartError(WAN_ALONE)
    listeners = None
    if arguments.wan:
        from launch.regions.network.user_network import run_in_own_network
        from streams.broker.embedded_broker import free_ports

        first = arguments.port or free_ports(1)[0]
        listeners = run_in_own_network(range(first, first + len(arguments.regions)))
    with locked(home):
        if arguments.regions:
            from launch.chaos.regions.run import run_regional_chaos

            run = run_regional_chaos(home, options, arguments.regions, listeners, echo)
        else:
            run = run_chaos(home, options, echo)
        return asyncio.run(run)


def _doctor(_: argparse.Namespace) -> int:
    from launch.commands.doctor import doctor
    from launch.regions.network.user_network import enter_network_of

    enter_network_of(home_folder())
    return doctor(home_folder(), echo)


def _keys(arguments: argparse.Namespace) -> int:
    from launch.commands.keys import run_keys

    return run_keys(home_folder(), arguments, echo)


def _certificates(arguments: argparse.Namespace) -> int:
    from launch.commands.certificates import run_certificates

    return run_certificates(arguments.out or home_folder() / CERTIFICATES, arguments.host, echo)


def _region(arguments: argparse.Namespace) -> int:
    from launch.commands.region import run_region

    return run_region(home_folder(), arguments.words, arguments.json, echo)


def _exchanges(arguments: argparse.Namespace) -> int:
    from launch.commands.exchanges import StandaloneOptions, run_session_exchanges, run_standalone
    from simulators.server import LOOPBACK

    home = home_folder()
    if arguments.session:
        return run_session_exchanges(read_session(home), home, arguments.bind or LOOPBACK)
    if arguments.bind is not None:
        raise CannotStartError("--bind goes with --session; the exchanges alone listen on loopback.")
    options = StandaloneOptions(
        port=arguments.port,
        seed=arguments.seed,
        json_file=arguments.json,
        only=tuple(arguments.only),
        faults=arguments.faults,
        is_limited=not arguments.no_limits,
        market=arguments.market,
        accounts=arguments.accounts,
        has_own_ports=arguments.port_per_exchange,
        has_tls=arguments.tls,
        socket_seconds=arguments.socket_seconds,
    )
    return run_standalone(home, options, echo)


def _feed(arguments: argparse.Namespace) -> int:
    from exchanges.ccxt.on_demand import load_ccxt_on_demand
    from pricefeeds.feed.feeder import run_feeder

    session = _session_with(arguments.name, "feed")
    if session.entry_of(arguments.name).is_generic:
        load_ccxt_on_demand()
    return _run_part(
        session,
        f"feed-{arguments.name}",
        lambda part, ready: run_feeder(part, arguments.name, ready, environment=os.environ),
    )


def _bot(arguments: argparse.Namespace) -> int:
    from exchanges.ccxt.on_demand import load_ccxt_on_demand

    load_ccxt_on_demand()
    from bots.draining import Draining
    from bots.process import run_bot
    from cep.apps.hosts.average_app import shipped_average_app
    from cep.errors import CepCannotStartError

    # transactions run in threads: each of their answers may wait this long for a loop that is busy
    sys.setswitchinterval(BOT_SWITCH_SECONDS)
    session, draining = _session_with(arguments.name, "bot"), Draining()
    try:
        average_rule = shipped_average_app()
    except CepCannotStartError as error:
        raise CannotStartError(f"{str(error).rstrip('.')}.") from None

    def entry(of: Session, ready: Ready) -> Coroutine[object, object, None]:
        return run_bot(of, arguments.name, average_rule, ready, os.environ, draining)

    return _run_part(session, bot_name(arguments.name, arguments.number), entry, draining.request)


def _bridge(_: argparse.Namespace) -> int:
    from pricefeeds.settings_publisher import run_settings_publisher

    return _run_part(running_session("publisher"), "publisher", run_settings_publisher)


def _logrecorder(_: argparse.Namespace) -> int:
    from pricefeeds.log_recorder import run_log_recorder

    return _run_part(running_session("logrecorder"), "logrecorder", run_log_recorder)


def _carrier(_: argparse.Namespace) -> int:
    from launch.regions.network.carrier import run_carrier
    from launch.supervisor.process_main import run_blocking_process

    home = home_folder()
    return run_blocking_process(home, "carrier", lambda ready: run_carrier(home, ready))


def _ui(_: argparse.Namespace) -> int:
    from ui.server.web_server import run_ui

    return _run_part(running_session("ui"), "ui", run_ui)


def _cep(arguments: argparse.Namespace) -> int:
    from cep.detection.job import run_cep
    from launch.supervisor.process_main import run_blocking_process
    from launch.supervisor.readiness import until_ready

    home = home_folder()
    log_is_there = partial(until_ready, home, tuple(arguments.after))
    return run_blocking_process(home, "cep", lambda ready: run_cep(running_session("cep"), ready, log_is_there))


def _run_part(session: Session, name: str, entry: SessionEntry, leave: Callable[[], None] | None = None) -> int:
    return run_process(session.home, name, lambda ready: entry(session, ready), leave)


def _session_with(exchange: str, role: str) -> Session:
    session = running_session(role)
    if exchange not in session.exchanges:
        raise LaunchError(
            f"{exchange!r} is not an exchange of the running session; it has {', '.join(session.exchanges)}."
        )
    return session


def echo(line: str) -> None:
    """One line for the user, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
