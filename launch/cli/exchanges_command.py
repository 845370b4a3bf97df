"""`arbitrage exchanges`: the simulated exchanges on their own, for any ccxt bot."""

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from exchanges.errors import AccountRejectedError
from exchanges.exchange_addresses import simulated_addresses
from exchanges.exchange_credentials import load_credentials
from launch.errors import CannotStartError, LaunchError, StoppedError
from launch.setup.data_dir import check_writable, process_lock, ready_file, write_atomically
from launch.supervisor.interruptible_wait import stop_event, unless_stopped
from launch.supervisor.ports import claim_web_port
from launch.supervisor.process_main import run_process
from session.session import Session
from session.simulated_market import DEFAULT_MARKET, MarketName
from simulators.faults.fault_schedule import ScheduledFault, schedule_of
from simulators.faults.faults import FaultRejectedError
from simulators.market.chosen_market import ChosenMarket
from simulators.market.efficient_prices import Tape
from simulators.simulator_server import EXCHANGES, ExchangesOptions, listed_symbols, run_exchanges

_HOST = "127.0.0.1"
_ACCOUNTS = "exchanges-alone"
"""Separate accounts, so that no other bot trades on a session's."""

Echo = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StandaloneOptions:
    """As on the command line; `faults` is SEED, SEED:PER_MINUTE or a file."""

    port: int
    seed: int
    json_file: Path | None
    only: tuple[str, ...]
    faults: str | None
    is_limited: bool = True
    market: MarketName = DEFAULT_MARKET


def run_standalone(home: Path, options: StandaloneOptions, echo: Echo) -> int:
    """Serve until the user stops it; returns the exit code. Raises LaunchError if it cannot start or go on."""
    names = _checked_names(options.only)
    scheduled = _scheduled(options.faults, names)
    if options.json_file is not None:
        check_writable(options.json_file)
    claim_web_port(_HOST, options.port)
    served = ExchangesOptions(
        options.port, options.seed, names, scheduled, _ACCOUNTS, options.is_limited, ChosenMarket(options.market)
    )
    url = f"http://{_HOST}:{options.port}"

    def ready() -> None:
        if options.json_file is not None:
            content = json.dumps(ccxt_settings(home, url, names), indent=2)
            write_atomically(options.json_file, content.encode())
        echo(f"Simulated exchanges ({', '.join(names)}): {url}")

    with process_lock(home, _ACCOUNTS):
        return asyncio.run(_until_stopped(home, served, ready))


def run_session_exchanges(session: Session) -> int:
    """Serve the exchanges of the running session; returns the exit code."""
    if session.exchanges_url is None:
        raise CannotStartError("this session trades on local paper accounts and has no simulated exchanges.")
    port = urlsplit(session.exchanges_url).port or 0
    market = ChosenMarket(session.market.name, _tape(session))
    options = ExchangesOptions(
        port,
        session.seed,
        session.exchanges,
        is_limited=session.rate_limits,
        market=market,
        bases=tuple(one for one in session.bases if one not in session.standby_assets),
    )
    detects = ready_file(session.home, "cep").exists
    return run_process(session.home, "exchanges", lambda ready: run_exchanges(session.home, options, ready, detects))


def _tape(session: Session) -> Tape | None:
    folder = session.market.tape_folder
    if folder is None:
        return None
    # only now: without a tape this process needs no pyarrow
    from launch.sessions.recorded_tape import tape_in

    return tape_in(folder, session.bases)


def ccxt_settings(home: Path, url: str, names: Iterable[str]) -> dict[str, dict[str, object]]:
    """Per exchange the arguments of ccxt's constructor: `id`, `urls` and the keys of a funded test account."""
    settings: dict[str, dict[str, object]] = {}
    for name in names:
        keys = load_credentials(home, name)
        options = {"apiKey": keys.api_key, "secret": keys.secret, "password": keys.password, "uid": keys.uid}
        settings[name] = {"id": name, "urls": {"api": simulated_addresses(name, f"{url}/{name}")}}
        settings[name].update((key, value) for key, value in options.items() if value)
    return settings


async def _until_stopped(home: Path, options: ExchangesOptions, ready: Callable[[], None]) -> int:
    try:
        await unless_stopped(run_exchanges(home, options, ready), stop_event())
    except StoppedError:
        return 0
    except AccountRejectedError as error:
        raise CannotStartError(f"{error}.") from error
    except OSError as error:
        raise LaunchError(f"the simulated exchanges stopped: {error}.") from error
    return 0


def _checked_names(only: tuple[str, ...]) -> tuple[str, ...]:
    for name in only:
        if name not in EXCHANGES:
            raise CannotStartError(f"--only: {name!r} is not simulated; known are {', '.join(EXCHANGES)}.")
    return tuple(dict.fromkeys(only)) or EXCHANGES


def _scheduled(text: str | None, names: tuple[str, ...]) -> Iterable[ScheduledFault]:
    if text is None:
        return ()
    try:
        return schedule_of(text, listed_symbols(names))
    except FaultRejectedError as error:
        raise CannotStartError(f"--faults: {error}") from error
