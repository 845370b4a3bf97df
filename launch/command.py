"""The `arbitrage` command. Exit codes: 0 fine, 1 failed, 2 cannot start; a mistake gets one sentence, no trace."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from decimal import Decimal
from pathlib import Path

from launch.configuration import read_configuration
from launch.errors import LaunchError
from launch.home import bot_name, home_folder, locked, read_session
from launch.process import Ready, run_process
from market.money import decimal_of
from market.session import Session

PartCommand = tuple[str, str, Callable[[argparse.Namespace], int]]
SessionEntry = Callable[[Session, Ready], Coroutine[object, object, None]]

MOST = 1_000_000_000
"""Of seconds and of times faster: thirty years, and no number that overflows further in."""
A_DAY = 86_400


def main() -> None:
    """Console entry."""
    sys.exit(run(sys.argv[1:]))


def run(words: list[str]) -> int:
    arguments = parser_of_commands().parse_args(words)
    run_command: Callable[[argparse.Namespace], int] = arguments.run
    try:
        return run_command(arguments)
    except LaunchError as error:
        sys.stderr.write(f"arbitrage: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def parser_of_commands() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="arbitrage", description="Cross-exchange crypto arbitrage on paper.")
    commands = parser.add_subparsers(dest="command", required=True)
    paper = commands.add_parser("paper", help="start everything and trade on paper")
    paper.add_argument("--seconds", type=_positive, help="stop after this long, counted from when all is ready")
    paper.add_argument("--json", type=Path, metavar="FILE", help="write the session's summary there")
    paper.add_argument("--port", type=_port, help="of the dashboard (default 8000)")
    paper.add_argument("--config", type=Path, metavar="FILE", help="TOML configuration (default arbitrage.toml)")
    paper.add_argument("--seed", type=_seed, help="of the simulated exchanges' prices")
    paper.add_argument("--record", action="store_true", help="record what the feeds hear and say, in the data folder")
    paper.set_defaults(run=_paper)
    live = commands.add_parser(
        "live", help="trade on real exchanges, or in their sandboxes; needs keys and to be armed"
    )
    live.add_argument("--seconds", type=_positive, help="stop after this long, counted from when all is ready")
    live.add_argument("--json", type=Path, metavar="FILE", help="write the session's summary there")
    live.add_argument("--port", type=_port, help="of the dashboard (default 8000)")
    live.add_argument("--config", type=Path, metavar="FILE", help="TOML configuration (default arbitrage.toml)")
    live.add_argument("--record", action="store_true", help="record what the feeds hear and say, in the data folder")
    live.set_defaults(run=_live)
    replay = commands.add_parser("replay", help="feed recorded ticks through the same streams, Spark job and bots")
    replay.add_argument("files", type=Path, nargs="+", metavar="FILE")
    replay.add_argument("--speed", type=_positive, help="times faster than recorded (default: the profile's)")
    replay.add_argument("--fee-bps", type=_fee, help="taker fee a side, in place of the profile's")
    replay.add_argument("--json", type=Path, metavar="FILE", help="write the report there")
    replay.add_argument("--port", type=_port, help="of the dashboard (default 8000)")
    replay.set_defaults(run=_replay)
    reenact = commands.add_parser("reenact", help="live a recording again: does today's feed code give the same rows?")
    reenact.add_argument("folder", type=Path, metavar="FOLDER", help="of one exchange, one session or all recordings")
    reenact.set_defaults(run=_reenact)
    _add_chaos(commands)
    commands.add_parser("doctor", help="check every prerequisite").set_defaults(run=_doctor)
    _add_parts(commands)
    return parser


def _add_chaos(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    chaos = commands.add_parser(
        "chaos", help="kill, pause and confuse everything by a seed, then audit the books against the exchanges'"
    )
    chaos.add_argument(
        "--seconds", type=_seconds_of_blows, default=180.0, help="of blows, from when all is ready (default 180)"
    )
    chaos.add_argument("--seed", type=_seed, default=1, help="of the schedule and of the prices (default 1)")
    chaos.add_argument("--json", type=Path, metavar="FILE", help="write what was done and found there")
    chaos.add_argument("--port", type=_port, help="of the dashboard (default: any that is free)")
    chaos.set_defaults(run=_chaos)


def _add_parts(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    exchanges = commands.add_parser("exchanges", help="run the simulated exchanges alone")
    exchanges.add_argument("--port", type=_port, default=8100, help="of all of them (default 8100)")
    exchanges.add_argument("--seed", type=_seed, default=1, help="of their prices")
    exchanges.add_argument("--json", type=Path, metavar="FILE", help="write there what ccxt's constructor needs")
    exchanges.add_argument("--only", nargs="+", default=[], metavar="NAME", help="which ones (default all)")
    exchanges.add_argument("--faults", metavar="SEED[:PER_MINUTE]|FILE", help="let things go wrong, by the clock")
    exchanges.add_argument("--session", action="store_true", help="those of the running session, and nothing else")
    exchanges.set_defaults(run=_exchanges)
    feed = commands.add_parser("feed", help="run one exchange's price feeder of the running session")
    feed.add_argument("name", metavar="EXCHANGE")
    feed.set_defaults(run=_feed)
    bot = commands.add_parser("bot", help="run one exchange's bot of the running session, or one that stands by")
    bot.add_argument("name", metavar="EXCHANGE")
    bot.add_argument("--number", type=_number_of_bot, default=1, help="among the bots of that exchange (default 1)")
    bot.set_defaults(run=_bot)
    unnamed: tuple[PartCommand, ...] = (
        ("bridge", "run the settings bridge of the running session", _bridge),
        ("cep", "run the Spark job of the running session", _cep),
        ("ui", "run REST and dashboard of the running session", _ui),
    )
    for name, text, entry in unnamed:
        commands.add_parser(name, help=text).set_defaults(run=entry)


def _paper(arguments: argparse.Namespace) -> int:
    from launch.paper import PaperOptions, run_paper
    from launch.public import run_public

    options = PaperOptions(arguments.seconds, arguments.json, arguments.port, arguments.seed, arguments.record)
    told = read_configuration(arguments.config, os.environ)
    home, run_session = home_folder(), run_public if told.is_public else run_paper
    with locked(home):
        return asyncio.run(run_session(home, options, told, say))


def _live(arguments: argparse.Namespace) -> int:
    from launch.live import run_live
    from launch.paper import PaperOptions

    options = PaperOptions(arguments.seconds, arguments.json, arguments.port, None, arguments.record)
    told = read_configuration(arguments.config, os.environ)
    home = home_folder()
    with locked(home):
        return asyncio.run(run_live(home, options, told, os.environ, say))


def _replay(arguments: argparse.Namespace) -> int:
    from launch.replay import ReplayOptions, run_replay

    options = ReplayOptions(tuple(arguments.files), arguments.speed, arguments.fee_bps, arguments.json, arguments.port)
    home = home_folder()
    with locked(home):
        return asyncio.run(run_replay(home, options, read_configuration(None, os.environ), say))


def _reenact(arguments: argparse.Namespace) -> int:
    from launch.reenacting import reenact_folder

    return reenact_folder(arguments.folder, say)


def _chaos(arguments: argparse.Namespace) -> int:
    from launch.chaos import ChaosOptions, chaos_home, run_chaos

    options = ChaosOptions(arguments.seconds, arguments.seed, arguments.json, arguments.port)
    home = chaos_home(home_folder())
    with locked(home):
        return asyncio.run(run_chaos(home, options, say))


def _doctor(_: argparse.Namespace) -> int:
    from launch.doctor import doctor

    return doctor(home_folder(), say)


def _exchanges(arguments: argparse.Namespace) -> int:
    from launch.exchanges import AloneOptions, run_alone, run_of_session

    home = home_folder()
    if arguments.session:
        return run_of_session(read_session(home))
    only = tuple(arguments.only)
    return run_alone(home, AloneOptions(arguments.port, arguments.seed, arguments.json, only, arguments.faults), say)


def _feed(arguments: argparse.Namespace) -> int:
    from pricefeeds.feeder import run_feeder

    session = _session_with(arguments.name)
    return _run_part(
        session,
        f"feed-{arguments.name}",
        lambda part, ready: run_feeder(part, arguments.name, ready, environment=os.environ),
    )


def _bot(arguments: argparse.Namespace) -> int:
    from bots.bot import run_bot

    session = _session_with(arguments.name)
    part = bot_name(arguments.name, arguments.number)
    return _run_part(session, part, lambda of, ready: run_bot(of, arguments.name, ready, os.environ))


def _bridge(_: argparse.Namespace) -> int:
    from pricefeeds.bridge import run_bridge

    return _run_part(read_session(home_folder()), "bridge", run_bridge)


def _ui(_: argparse.Namespace) -> int:
    from ui.server import run_ui

    return _run_part(read_session(home_folder()), "ui", run_ui)


def _cep(_: argparse.Namespace) -> int:
    from cep.job import run_cep
    from launch.process import run_blocking_process

    session = read_session(home_folder())
    return run_blocking_process(session.home, "cep", lambda ready: run_cep(session, ready))


def _run_part(session: Session, name: str, entry: SessionEntry) -> int:
    return run_process(session.home, name, lambda ready: entry(session, ready))


def _session_with(exchange: str) -> Session:
    session = read_session(home_folder())
    if exchange not in session.exchanges:
        raise LaunchError(f"{exchange!r} is no exchange of the running session; it has {', '.join(session.exchanges)}.")
    return session


def say(line: str) -> None:
    """One line for the user, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _positive(text: str) -> float:
    number = _number(text)
    if not 0 < number <= MOST:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number up to {MOST:,}")
    return float(number)


def _seconds_of_blows(text: str) -> float:
    """The whole schedule is drawn up and printed before the first one."""
    seconds = _positive(text)
    if seconds > A_DAY:
        raise argparse.ArgumentTypeError(f"{text} is longer than a day ({A_DAY:,} s)")
    return seconds


def _number(text: str) -> Decimal:
    try:
        return decimal_of(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _port(text: str) -> int:
    number = _number(text)
    if not 1 <= number <= 65_535 or number % 1:
        raise argparse.ArgumentTypeError(f"{text} is not a port between 1 and 65535")
    return int(number)


def _seed(text: str) -> int:
    number = _number(text)
    if abs(number) >= 2**63 or number % 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of less than 64 bits")
    return int(number)


def _number_of_bot(text: str) -> int:
    number = _number(text)
    if not 1 <= number <= 99 or number % 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number between 1 and 99")
    return int(number)


def _fee(text: str) -> Decimal:
    number = _number(text)
    if not 0 <= number <= 1_000:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1000 bps")
    return number


if __name__ == "__main__":
    main()
