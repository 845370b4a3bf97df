"""The arguments of each subcommand of `arbitrage`, and the error message if one of them is wrong.

Imports none of the packages that the subcommands use, so that `--help` is fast.
"""

import argparse
import re
from decimal import Decimal
from pathlib import Path
from typing import get_args

from market.money import decimal_of
from runtime.logins import Mechanism, Protocol
from session.simulated_market import DEFAULT_MARKET, MARKETS

MAX_NUMBER = 1_000_000_000
"""Maximum of seconds and of speeds: thirty years, small enough never to overflow."""
DAY_SECONDS = 86_400
LOWEST_FEE_BPS, HIGHEST_FEE_BPS = -100, 1_000
"""Bounds of a taker fee in a backtest; one below 0 is a rebate, which the settings of a session cannot have."""
_REGION = re.compile(r"[a-z]{2,10}")


def add_paper(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument("--seed", type=seed, help="seed of the simulated prices")
    parser.add_argument("--market", choices=MARKETS, help=f"simulated market (default {DEFAULT_MARKET})")
    parser.add_argument("--tape", metavar="NAME", help="simulated market at the prices of a tick set or recording")
    _add_regions(parser)


def _add_regions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--regions",
        type=region_names,
        default=(),
        metavar="NAME,NAME,…",
        help="a Kafka, a MongoDB, detection, a page and the exchanges there in each region, for example us,eu,jp",
    )
    parser.add_argument(
        "--wan",
        action="store_true",
        help="with --regions: links as slow as the real ones; needs root or user namespaces",
    )


def region_names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if not all(_REGION.fullmatch(name) for name in names):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of regions; write it as in us,eu,jp")
    if len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(f"{text!r} names a region twice; write each once")
    return names


def add_session(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a session that trades, on paper or for real."""
    parser.add_argument("--seconds", type=positive, help="stop after this long, counted from when all is ready")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the session's summary there")
    parser.add_argument("--report", type=Path, metavar="FILE.html", help="write the session's report as one HTML page")
    parser.add_argument("--port", type=port, help="port of the dashboard (default 8000)")
    parser.add_argument("--no-browser", action="store_false", dest="browser", help="do not open the dashboard")
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML configuration (default arbitrage.toml)")
    parser.add_argument(
        "--record",
        action="store_true",
        help="record frames in and ticks out, in the data folder",
    )


def add_markets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="all that the exchanges list, not what is configured alone")
    parser.add_argument("--asset", metavar="ASSET", help="all of this one, for example ETH")
    parser.add_argument("--exchange", metavar="NAME", help="all of this one, for example kraken")
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML configuration (default arbitrage.toml)")


def add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE")
    parser.add_argument("--verify", metavar="SESSION", help="verify a recorded session instead, by its id or folder")
    parser.add_argument("--speed", type=positive, help="replay speed, times the recorded one (default: the profile's)")
    parser.add_argument("--fee-bps", type=fee, help="taker fee per side, instead of the profile's")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there")
    parser.add_argument("--port", type=port, help="port of the dashboard (default 8000)")


def add_backtest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="+", metavar="SET|FILE", help="a tick set's name or folder, a recorded session's, or raw files"
    )
    parser.add_argument(
        "--master", default="local[*]", help="Spark master (default: this machine; Spark for large sets)"
    )
    parser.add_argument(
        "--set-value", action="append", default=[], metavar="NAME=VALUE", help="change a setting; may be repeated"
    )
    parser.add_argument(
        "--fee-bps", type=fee_or_rebate, help="taker fee per side, instead of the set's own; below 0 it is a rebate"
    )
    _add_latency(parser)
    parser.add_argument(
        "--fee-tiers",
        action="append",
        default=[],
        metavar="EXCHANGE=VOLUME:BPS,…",
        help="fees by 30-day volume; may be repeated",
    )
    parser.add_argument(
        "--failed-percent", type=float, default=0.0, metavar="N", help="percent of orders that are rejected"
    )
    parser.add_argument("--latency-from", type=Path, metavar="FILE", help="JSON file of latency samples per exchange")
    parser.add_argument(
        "--latency-from-feed",
        action="store_true",
        help="draw each order's latency from how long quotes of its exchange took to arrive",
    )
    parser.add_argument("--seed", type=seed, default=1, help="random seed (default 1)")
    _add_files_of_settings(parser)
    parser.add_argument("--rate-limits", action="store_true", help="new trades keep to the exchanges' rate limits")
    _add_results(parser)


def _add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON")
    parser.add_argument("--report", type=Path, metavar="FILE.html", help="write the report as one HTML page")
    parser.add_argument(
        "--trades", type=Path, metavar="FILE", help="write all trades as CSV, or as JSON if the name ends in .json"
    )
    # for the supervisor: the progress, and the summary figures
    parser.add_argument("--progress", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--figures", type=Path, help=argparse.SUPPRESS)


def _add_files_of_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--follow-settings", action="store_true", help="use the settings of the recorded log")
    _add_cycles(parser)
    parser.add_argument("--transfers", action="store_true", help="make the transfers of the rebalancing plan")


def _add_cycles(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="TOML configuration whose [cycles] and [transfers] count (default arbitrage.toml)",
    )


def _add_latency(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--latency-ms",
        action="append",
        default=[],
        metavar="N|EXCHANGE=N",
        help="latency from the decision to the match",
    )


def add_sweep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="SET|FILE", help="a tick set's name or folder, a recorded session's, or raw files"
    )
    parser.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=FROM:TO:STEP|NAME=A,B",
        help="grid of values; may be repeated",
    )
    parser.add_argument(
        "--range", action="append", default=[], metavar="NAME=LOW:HIGH", help="range to draw from; may be repeated"
    )
    parser.add_argument("--random", type=seed, metavar="N", help="draw N parameter sets instead of every combination")
    parser.add_argument("--seed", type=seed, default=1, help="random seed (default 1)")
    parser.add_argument(
        "--walk-forward", type=seed, metavar="N", help="N walk-forward splits: choose in sample, test out of sample"
    )
    parser.add_argument(
        "--set-value",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting that is not varied; may be repeated",
    )
    parser.add_argument("--fee-bps", type=fee, help="taker fee per side, instead of the set's own")
    _add_latency(parser)
    _add_cycles(parser)
    parser.add_argument("--master", default="local[*]", help="Spark master (default: all cores of this machine)")
    parser.add_argument("--name", help="name of the sweep (default: derived from its parameters)")
    parser.add_argument("--resume", metavar="NAME", help="continue a sweep that was stopped")
    parser.add_argument("--show", metavar="NAME", help="show a finished sweep")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON")


def add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", metavar="FORMAT", help="format of the files; --list shows all formats")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE|FOLDER|PATTERN")
    parser.add_argument("--exchange", metavar="NAME", help="exchange of the files, if they do not name it")
    parser.add_argument("--symbol", metavar="BASE/QUOTE", help="symbol of the files, if they do not name it")
    parser.add_argument("--region", metavar="NAME", help="region of the exchange (default: the known one)")
    parser.add_argument("--fx", action="store_true", help="the files hold FX rates, used for every market")
    parser.add_argument(
        "--half-spread-bps", type=fee, metavar="BPS", help="for trades and bars: half the spread put around each price"
    )
    parser.add_argument(
        "--contract-size",
        type=size,
        metavar="N",
        help="derivatives: size of one contract, in dollars (inverse) or coins (linear), if it is not known",
    )
    parser.add_argument(
        "--step", type=size, metavar="N", help="step of amounts in base, and their minimum, if it is not known"
    )
    parser.add_argument(
        "--min-notional", type=size, metavar="N", help="minimum of price × amount in quote currency, if it is not known"
    )
    parser.add_argument("--mapping", type=Path, metavar="FILE", help="column mapping, for FORMAT csv")
    parser.add_argument(
        "--alike",
        action="append",
        default=[],
        metavar="ASSET=ASSET",
        help="treat two assets as equal, 1:1; may be repeated",
    )
    parser.add_argument("--set", default="imported", metavar="NAME", help="name of the tick set (default imported)")
    parser.add_argument("--settlement", metavar="CURRENCY", help="settlement currency of a new set (default USD)")


def add_raw_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="folder of one exchange, one session or all recordings"
    )


def add_chaos(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds",
        type=chaos_seconds,
        default=180.0,
        help="duration of the fault injection, once all is ready (default 180)",
    )
    parser.add_argument("--seed", type=seed, default=1, help="seed of the schedule and of the prices (default 1)")
    parser.add_argument("--market", choices=MARKETS, default="storm", help="simulated market (default storm)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON")
    parser.add_argument("--port", type=port, help="port of the dashboard (default: a free one)")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="TOML configuration of its assets and exchanges (default: none)"
    )
    parser.add_argument(
        "--exchanges",
        nargs="+",
        default=[],
        metavar="NAME",
        help="exchanges that take part (default: those of the configuration, or of a paper session)",
    )
    _add_regions(parser)


def add_apart(command: argparse.ArgumentParser) -> None:
    works = command.add_subparsers(dest="work", required=True, metavar="WORK")
    make = works.add_parser("make", help="write the session's description and the login of each part into a folder")
    make.add_argument("folder", type=Path, metavar="FOLDER")
    make.add_argument("--config", type=Path, metavar="FILE", help="TOML configuration (default arbitrage.toml)")
    make.add_argument(
        "--exchanges", required=True, metavar="URL", help="http://HOST:PORT where parts reach the simulated exchanges"
    )
    make.add_argument("--kafka-protocol", choices=get_args(Protocol), default="SASL_SSL")
    make.add_argument("--kafka-mechanism", choices=get_args(Mechanism), default="SCRAM-SHA-512")
    make.add_argument(
        "--owner-mechanism", choices=get_args(Mechanism), help="of the owner alone (default: as all others)"
    )
    make.add_argument("--kafka-ca", default="", metavar="FILE", help="Kafka's certificates, where each part runs")
    make.add_argument(
        "--mongodb-ca", default="", metavar="FILE", help="MongoDB's certificates there; it is reached with TLS then"
    )
    make.add_argument(
        "--region",
        action="append",
        default=[],
        metavar="NAME=HOST:PORT",
        help="a region and its Kafka, three times or more; a folder for each is made",
    )
    prepare = works.add_parser("prepare", help="create what the session needs in Kafka and MongoDB, as their owner")
    prepare.add_argument("--config", type=Path, metavar="FILE", help="TOML configuration (default arbitrage.toml)")
    prepare.add_argument("--users", action="store_true", help="also the parts' users and their rights")


def add_keys(parser: argparse.ArgumentParser) -> None:
    works = parser.add_subparsers(dest="work", required=True, metavar="add | list | revoke")
    add = works.add_parser("add", help="create a key and show it once")
    add.add_argument("name", metavar="NAME", help="name of its owner, as the audit log shows it")
    add.add_argument(
        "--role",
        choices=("viewer", "author", "operator"),
        required=True,
        help="viewer: read only; author: may also write and publish stream apps; operator: may change all",
    )
    works.add_parser("list", help="list names, roles and creation times")
    revoke = works.add_parser("revoke", help="revoke a key; takes effect with the next request")
    revoke.add_argument("name", metavar="NAME")


def add_certificates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host",
        action="extend",
        nargs="+",
        default=[],
        metavar="NAME",
        help="host names and IP addresses of servers, each of which gets a certificate (default: localhost)",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="default: certificates, in the data folder")


def add_region(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="+",
        metavar="COMMAND",
        help="cut REGION | loss REGION PERCENT | delay REGION MS | skew REGION TIME (its clock, as in +2s or -500ms) | "
        "heal [REGION] | state | kill REGION (its processes, by kill -9); but for kill and skew, in place of REGION, "
        "which means all its links, also A B (the links between two, both ways) or A to B (that way alone; 'A>B' in "
        "quotes is the same). MS is of a round trip; with A to B, of that way",
    )
    parser.add_argument("--json", action="store_true", help="print the state as JSON")


def add_exchanges(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=port, default=8100, help="port of all of them (default 8100)")
    parser.add_argument("--seed", type=seed, default=1, help="seed of the prices")
    parser.add_argument("--market", choices=MARKETS, default=DEFAULT_MARKET, help="how the prices move (default busy)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the arguments for ccxt's constructors as JSON")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="run only these exchanges (default: all)")
    parser.add_argument("--faults", metavar="SEED[:PER_MINUTE]|FILE", help="inject faults on a schedule")
    parser.add_argument("--no-limits", action="store_true", help="switch the rate limits off, for load tests")
    parser.add_argument(
        "--socket-seconds",
        type=seconds_of_a_socket,
        metavar="SECONDS",
        help="how long a WebSocket connection lives at most (default: as at each exchange; Binance 86400)",
    )
    parser.add_argument(
        "--crosses", action="store_true", help="list coins priced in coins and in a second currency, such as ETH/BTC"
    )
    parser.add_argument("--accounts", type=number_of_accounts, default=1, help="accounts on each exchange (default 1)")
    parser.add_argument(
        "--port-per-exchange", action="store_true", help="serve each exchange at a port of its own too: PORT+1, …"
    )
    parser.add_argument("--tls", action="store_true", help="serve with TLS, by a certificate made here")
    parser.add_argument("--session", action="store_true", help="serve the running session (used by the supervisor)")
    parser.add_argument("--bind", metavar="ADDRESS", help="with --session: listen there (default 127.0.0.1)")


def add_feed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="EXCHANGE")


def add_bot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="EXCHANGE")
    parser.add_argument(
        "--number", type=number_of_bot, default=1, help="number of the bot on that exchange (default 1)"
    )


def add_cep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--after",
        metavar="PROCESS",
        action="append",
        default=[],
        help="start Spark at once, and read the log when this process of the session is ready",
    )


def add_nothing(_: argparse.ArgumentParser) -> None:
    """Add nothing, because it takes no arguments."""


def positive(text: str) -> float:
    number = decimal_number(text)
    if not 0 < number <= MAX_NUMBER:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number up to {MAX_NUMBER:,}")
    return float(number)


def chaos_seconds(text: str) -> float:
    """Return the seconds, at most one day: the whole schedule is computed and printed before the run."""
    seconds = positive(text)
    if seconds > DAY_SECONDS:
        raise argparse.ArgumentTypeError(f"{text} is longer than a day ({DAY_SECONDS:,} s)")
    return seconds


def decimal_number(text: str) -> Decimal:
    try:
        return decimal_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def port(text: str) -> int:
    return _whole_number(text, 1, 65_535, "a port between 1 and 65535")


def seed(text: str) -> int:
    return _whole_number(text, 1 - 2**63, 2**63 - 1, "a whole number of less than 64 bits")


def number_of_bot(text: str) -> int:
    return _whole_number(text, 1, 99, "a number between 1 and 99")


def seconds_of_a_socket(text: str) -> int:
    return _whole_number(text, 5, 86_400, "a whole number of seconds between 5 and 86400")


def number_of_accounts(text: str) -> int:
    return _whole_number(text, 1, 50, "a number between 1 and 50")


def _whole_number(text: str, least: int, most: int, what: str) -> int:
    number = decimal_number(text)
    if not least <= number <= most or number % 1:
        raise argparse.ArgumentTypeError(f"{text} is not {what}")
    return int(number)


def size(text: str) -> Decimal:
    number = decimal_number(text)
    if not Decimal("1e-12") <= number <= MAX_NUMBER:
        raise argparse.ArgumentTypeError(f"{text} is not a size between 0.000000000001 and {MAX_NUMBER:,}")
    return number


def fee_or_rebate(text: str) -> Decimal:
    number = decimal_number(text)
    if not LOWEST_FEE_BPS <= number <= HIGHEST_FEE_BPS:
        raise argparse.ArgumentTypeError(f"{text} is not between {LOWEST_FEE_BPS} and {HIGHEST_FEE_BPS} bps")
    return number


def fee(text: str) -> Decimal:
    number = decimal_number(text)
    if not 0 <= number <= 1_000:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1000 bps")
    return number
