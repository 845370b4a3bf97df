"""The commands of `arbitrage`. Exit codes: 0 fine, 1 failed, 2 cannot start; a mistake gets one sentence, no trace."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launch.commands.notices import add_notices, run_notices
from launch.commands.options.apps import add_app
from launch.commands.options.arguments import (
    add_apart,
    add_backtest,
    add_certificates,
    add_chaos,
    add_exchanges,
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
from launch.commands.outside.demo import demo_command
from launch.commands.outside.mcp_server import mcp_command
from launch.commands.parser import Command, command_line
from launch.commands.processes import process_commands
from launch.config.configuration_sources import is_configured
from launch.errors import CannotStartError, LaunchError
from launch.setup.data_dir import CERTIFICATES, home_folder, locked, read_session

if TYPE_CHECKING:
    # imported on use: a command that reads none needs neither its classes nor MongoDB's client
    from launch.config.configuration import Configuration

SESSION_FIELDS = ("seconds", "json", "report", "port", "record", "browser")
WAN_ALONE = "--wan goes with --regions; name them, as in --regions us,eu,jp."


def run_words(words: list[str]) -> int:
    """Run the command that these words name. Returns its exit code."""
    arguments = parser_of_commands().parse_args(words)
    run_command: Callable[[argparse.Namespace], int] = arguments.run
    try:
        return run_command(arguments)
    except LaunchError as error:
        sys.stderr.write(f"arbitrage: {error}\n")
        return error.exit_code


def parser_of_commands() -> argparse.ArgumentParser:
    return command_line("Cross-exchange crypto arbitrage: paper, backtest, live.", _commands(), process_commands())


def _commands() -> dict[str, tuple[Command, ...]]:
    """Return what `arbitrage --help` lists, by what one wants to do."""
    return {
        "trade": _trading(),
        "backtest and data": _backtesting(),
        "stream apps": (
            Command("app", "check a stream app, test it, run it live or over recorded data", add_app, _app),
        ),
        "operate": _operating(),
    }


def _trading() -> tuple[Command, ...]:
    return (
        demo_command(),
        Command("paper", "run the whole system and trade on paper", add_paper, _paper),
        Command(
            "live",
            "trade on real exchanges or in their sandboxes; needs API keys and the arm flag",
            add_session,
            _live,
        ),
        Command("exchanges", "run the simulated exchanges on their own", add_exchanges, _exchanges),
        Command("markets", "list what can be compared with what, and why something is not", add_markets, _markets),
    )


def _backtesting() -> tuple[Command, ...]:
    return (
        Command("backtest", "backtest on recorded ticks in Spark, without Kafka or MongoDB", add_backtest, _backtest),
        Command(
            "sweep", "backtest many parameter sets over one recording, with a walk-forward split", add_sweep, _sweep
        ),
        Command("replay", "replay recorded ticks through the same streams, Spark job and bots", add_replay, _replay),
        Command("raw-replay", "raw replay: recorded messages through today's feed code", add_raw_replay, _raw_replay),
        Command("import", "import third-party data into a tick set", add_imports, _imports),
        Command("sets", "list, show, repair and remove tick sets", add_sets, _sets),
    )


def _operating() -> tuple[Command, ...]:
    return (
        Command("doctor", "check every prerequisite", add_nothing, _doctor),
        *backup_commands(echo),
        mcp_command(),
        Command("keys", "add, list and revoke API keys for REST and the dashboard", add_keys, _keys),
        Command(
            "notices",
            "test the notification destinations",
            add_notices,
            lambda arguments: run_notices(arguments, echo),
        ),
        Command("region", "cut, slow, heal links between regions; set a clock off; kill a region", add_region, _region),
        Command("apart", "describe and prepare a session whose parts are started one by one", add_apart, _apart),
        Command(
            "certificates",
            "make certificates for Kafka and MongoDB on several machines",
            add_certificates,
            _certificates,
        ),
        Command(
            "chaos",
            "chaos run: inject faults by a seed, then audit the ledger against the exchanges' records",
            add_chaos,
            _chaos,
        ),
    )


def _paper(arguments: argparse.Namespace) -> int:
    _load_exchanges_on_demand()
    from launch.backup.migration import migrate_folder
    from launch.config.session_options import PaperOptions
    from launch.regions.network.user_network import run_in_own_network
    from launch.sessions.paper import check_paper, run_paper
    from launch.sessions.public_paper import check_public, run_public
    from launch.sessions.regional_paper import run_regional
    from launch.sessions.terminal.terminal_line import terminal_echo

    options = PaperOptions(
        **_of_a_session(arguments),
        seed=arguments.seed,
        market=arguments.market,
        tape=arguments.tape,
        regions=arguments.regions,
        has_delays=arguments.wan,
    )
    config = _configuration(arguments.config)
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
        return asyncio.run(run_session(home, options, config, terminal_echo(echo)))


def _load_exchanges_on_demand() -> None:
    """Spare a session's supervisor, which asks ccxt of a few exchanges and stays, the classes of all others."""
    from exchanges.ccxt.on_demand import load_ccxt_on_demand

    load_ccxt_on_demand()


def _of_a_session(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of SessionOptions."""
    return {name: getattr(arguments, name) for name in SESSION_FIELDS}


def _live(arguments: argparse.Namespace) -> int:
    _load_exchanges_on_demand()
    from launch.backup.migration import migrate_folder
    from launch.config.session_options import SessionOptions
    from launch.sessions.live import check_live, real_mode, run_live
    from launch.sessions.terminal.terminal_line import terminal_echo

    options = SessionOptions(**_of_a_session(arguments))
    home, config = home_folder(), _configuration(arguments.config)
    check_live(home, config, os.environ)
    with locked(home):
        migrate_folder(home, real_mode(config), echo)
        return asyncio.run(run_live(home, options, config, os.environ, terminal_echo(echo)))


def _app(arguments: argparse.Namespace) -> int:
    from launch.commands.app import run_app
    from launch.regions.network.user_network import enter_network_of

    if arguments.work == "run" and arguments.replay is None:
        enter_network_of(home_folder())
    return run_app(arguments, echo)


def _apart(arguments: argparse.Namespace) -> int:
    from launch.commands.apart import ApartOptions, make_apart, prepare_apart
    from launch.setup.login_files import running_session
    from launch.setup.login_rights import SUPERVISOR

    config = _configuration(arguments.config)
    if arguments.work == "prepare":
        return asyncio.run(prepare_apart(running_session(SUPERVISOR), config, arguments.users, echo))
    options = ApartOptions(
        folder=arguments.folder,
        exchanges_url=arguments.exchanges,
        kafka_protocol=arguments.kafka_protocol,
        kafka_mechanism=arguments.kafka_mechanism,
        owner_mechanism=arguments.owner_mechanism or arguments.kafka_mechanism,
        kafka_ca=arguments.kafka_ca,
        mongodb_ca=arguments.mongodb_ca,
        regions=tuple(arguments.region),
    )
    return make_apart(options, config, echo)


def _markets(arguments: argparse.Namespace) -> int:
    from launch.commands.markets import MarketsOptions, list_markets

    config = _configuration(arguments.config)
    return list_markets(MarketsOptions(arguments.asset, arguments.exchange, arguments.all), config, echo)


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
        return asyncio.run(run_replay(home, options, _configuration(None), echo))


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
        config=arguments.config,
        rate_limits=arguments.rate_limits,
        rebalancing=_configuration(arguments.config).transfers.backtest_rules if arguments.transfers else None,
        **_configured_trading(arguments.config),
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
        config=arguments.config,
        **_configured_trading(arguments.config),
    )
    return run_sweep_command(home_folder(), options, echo)


def _raw_replay(arguments: argparse.Namespace) -> int:
    from launch.commands.raw_replay import raw_replay_folder

    return raw_replay_folder(arguments.folder, echo)


def _chaos(arguments: argparse.Namespace) -> int:
    from launch.chaos.run import ChaosOptions, chaos_configuration, chaos_home, run_chaos
    from launch.config.configuration import Configuration

    config = Configuration() if arguments.config is None else _configuration(arguments.config)
    if arguments.exchanges:
        config = config.model_copy(update={"exchanges": tuple(arguments.exchanges)})
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
        has_crosses=arguments.crosses,
    )
    return run_standalone(home, options, echo)


def _configured_trading(path: Path | None) -> dict[str, Any]:
    """Return the options by `[cycles]` and `[transfers]`; none where nothing is configured, which spares the import."""
    if not is_configured(path, os.environ):
        return {}
    from launch.config.transfers import session_transfers

    config = _configuration(path)
    return {"cycles": config.cycles, "transfers": session_transfers(config.transfers)}


def _configuration(path: Path | None) -> "Configuration":
    from launch.config.configuration import read_configuration

    return read_configuration(path, os.environ)


def echo(line: str) -> None:
    """Print one line for the user, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
