"""What each subcommand of `arbitrage` takes: its arguments, and what is said where one of them is wrong.

Light: nothing of a subcommand's own room is imported before it runs.
"""

import argparse
from decimal import Decimal
from pathlib import Path

from market.money import decimal_of

MOST = 1_000_000_000
"""Of seconds and of times faster: thirty years, and no number that overflows further in."""
A_DAY = 86_400


def add_paper(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument("--seed", type=seed, help="of the simulated exchanges' prices")


def add_session(parser: argparse.ArgumentParser) -> None:
    """Of a session that trades, on paper or for real."""
    parser.add_argument("--seconds", type=positive, help="stop after this long, counted from when all is ready")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the session's summary there")
    parser.add_argument("--port", type=port, help="of the dashboard (default 8000)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML configuration (default arbitrage.toml)")
    parser.add_argument("--record", action="store_true", help="record what the feeds hear and say, in the data folder")


def add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE")
    parser.add_argument(
        "--verify", metavar="SESSION", help="derive a recorded session again instead: its id, or its folder"
    )
    parser.add_argument("--speed", type=positive, help="times faster than recorded (default: the profile's)")
    parser.add_argument("--fee-bps", type=fee, help="taker fee a side, in place of the profile's")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there")
    parser.add_argument("--port", type=port, help="of the dashboard (default 8000)")


def add_backtest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="+", metavar="SET|FILE", help="a tick set's name or folder, a recorded session's, or raw files"
    )
    parser.add_argument("--master", default="local[*]", help="of Spark (default: all cores of this machine)")
    parser.add_argument(
        "--set-value", action="append", default=[], metavar="NAME=VALUE", help="change a setting; may be repeated"
    )
    parser.add_argument("--fee-bps", type=fee, help="taker fee a side, in place of the set's own")
    parser.add_argument(
        "--latency-ms", action="append", default=[], metavar="N|EXCHANGE=N", help="until an order is matched"
    )
    parser.add_argument(
        "--fee-tiers",
        action="append",
        default=[],
        metavar="EXCHANGE=VOLUME:BPS,…",
        help="fees by the volume of 30 days; may be repeated",
    )
    parser.add_argument("--failed-percent", type=float, default=0.0, metavar="N", help="of orders that are rejected")
    parser.add_argument("--latency-from", type=Path, metavar="FILE", help="JSON: recorded ones by exchange, to draw")
    parser.add_argument("--seed", type=seed, default=1, help="of what is drawn (default 1)")
    parser.add_argument("--follow-settings", action="store_true", help="those of the log, as they changed then")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")
    parser.add_argument("--report", type=Path, metavar="FILE.html", help="write the report there, as one page")
    parser.add_argument(
        "--trades", type=Path, metavar="FILE", help="write all trades there: CSV, or JSON where its name ends in .json"
    )
    # for the supervisor: how far it is, and what it came to in short
    parser.add_argument("--progress", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--figures", type=Path, help=argparse.SUPPRESS)


def add_sweep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="SET|FILE", help="a tick set's name or folder, a recorded session's, or raw files"
    )
    parser.add_argument(
        "--grid", action="append", default=[], metavar="NAME=FROM:TO:STEP|NAME=A,B", help="try these; may be repeated"
    )
    parser.add_argument(
        "--range", action="append", default=[], metavar="NAME=LOW:HIGH", help="draw between these; may be repeated"
    )
    parser.add_argument("--random", type=seed, metavar="N", help="draw so many sets, not every combination")
    parser.add_argument("--seed", type=seed, default=1, help="of what is drawn (default 1)")
    parser.add_argument(
        "--walk-forward", type=seed, metavar="N", help="choose on each span of time and judge on the next"
    )
    parser.add_argument(
        "--set-value", action="append", default=[], metavar="NAME=VALUE", help="of a setting that is not varied"
    )
    parser.add_argument("--fee-bps", type=fee, help="taker fee a side, in place of the set's own")
    parser.add_argument(
        "--latency-ms", action="append", default=[], metavar="N|EXCHANGE=N", help="until an order is matched"
    )
    parser.add_argument("--master", default="local[*]", help="of Spark (default: all cores of this machine)")
    parser.add_argument("--name", help="under which its results are kept (default: made of what is asked)")
    parser.add_argument("--resume", metavar="NAME", help="do what is missing of a sweep that was stopped")
    parser.add_argument("--show", metavar="NAME", help="show a sweep again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")


def add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", metavar="FORMAT", help="of the files; --list names them all")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE|FOLDER|PATTERN")
    parser.add_argument("--exchange", metavar="NAME", help="that the files are from, where they do not say so")
    parser.add_argument("--symbol", metavar="BASE/QUOTE", help="that they are about, where they do not say so")
    parser.add_argument("--region", metavar="NAME", help="where the exchange is (default: as known)")
    parser.add_argument("--fx", action="store_true", help="they are exchange rates, for all that is traded")
    parser.add_argument(
        "--half-spread-bps", type=fee, metavar="BPS", help="of trades and bars: bid and ask lie so far beside a price"
    )
    parser.add_argument(
        "--contract-size",
        type=size,
        metavar="N",
        help="of derivatives: what an amount of 1 is, in dollars (inverse) or coins (linear), where it is not known",
    )
    parser.add_argument("--mapping", type=Path, metavar="FILE", help="what the columns are, for FORMAT csv")
    parser.add_argument(
        "--alike", action="append", default=[], metavar="ASSET=ASSET", help="compare unlike assets 1:1; may be repeated"
    )
    parser.add_argument("--set", default="imported", metavar="NAME", help="of the tick set (default imported)")
    parser.add_argument("--settlement", metavar="CURRENCY", help="of a new set (default USD)")


def add_reenact(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="of one exchange, one session or all recordings")


def add_chaos(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds", type=seconds_of_blows, default=180.0, help="of blows, from when all is ready (default 180)"
    )
    parser.add_argument("--seed", type=seed, default=1, help="of the schedule and of the prices (default 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was done and found there")
    parser.add_argument("--port", type=port, help="of the dashboard (default: any that is free)")


def add_keys(parser: argparse.ArgumentParser) -> None:
    works = parser.add_subparsers(dest="work", required=True, metavar="add | list | revoke")
    add = works.add_parser("add", help="make a key and show it once")
    add.add_argument("name", metavar="NAME", help="whom it is for: the audit log says so")
    add.add_argument("--role", choices=("viewer", "operator"), required=True, help="reads, or changes too")
    works.add_parser("list", help="names, roles and since when")
    revoke = works.add_parser("revoke", help="it counts no more, from the next request on")
    revoke.add_argument("name", metavar="NAME")


def add_exchanges(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=port, default=8100, help="of all of them (default 8100)")
    parser.add_argument("--seed", type=seed, default=1, help="of their prices")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write there what ccxt's constructor needs")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="which ones (default all)")
    parser.add_argument("--faults", metavar="SEED[:PER_MINUTE]|FILE", help="let things go wrong, by the clock")
    parser.add_argument("--no-limits", action="store_true", help="without the real ones' rate limits, to load them")
    parser.add_argument("--session", action="store_true", help="those of the running session, and nothing else")


def add_feed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="EXCHANGE")


def add_bot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="EXCHANGE")
    parser.add_argument("--number", type=number_of_bot, default=1, help="among the bots of that exchange (default 1)")


def add_nothing(_: argparse.ArgumentParser) -> None:
    """It takes no arguments."""


def positive(text: str) -> float:
    number = decimal_number(text)
    if not 0 < number <= MOST:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number up to {MOST:,}")
    return float(number)


def seconds_of_blows(text: str) -> float:
    """The whole schedule is drawn up and printed before the first one."""
    seconds = positive(text)
    if seconds > A_DAY:
        raise argparse.ArgumentTypeError(f"{text} is longer than a day ({A_DAY:,} s)")
    return seconds


def decimal_number(text: str) -> Decimal:
    try:
        return decimal_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def port(text: str) -> int:
    number = decimal_number(text)
    if not 1 <= number <= 65_535 or number % 1:
        raise argparse.ArgumentTypeError(f"{text} is not a port between 1 and 65535")
    return int(number)


def seed(text: str) -> int:
    number = decimal_number(text)
    if abs(number) >= 2**63 or number % 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of less than 64 bits")
    return int(number)


def number_of_bot(text: str) -> int:
    number = decimal_number(text)
    if not 1 <= number <= 99 or number % 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number between 1 and 99")
    return int(number)


def size(text: str) -> Decimal:
    number = decimal_number(text)
    if not Decimal("1e-12") <= number <= MOST:
        raise argparse.ArgumentTypeError(f"{text} is not a size between 0.000000000001 and {MOST:,}")
    return number


def fee(text: str) -> Decimal:
    number = decimal_number(text)
    if not 0 <= number <= 1_000:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1000 bps")
    return number
