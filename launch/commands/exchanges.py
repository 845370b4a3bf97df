"""`arbitrage exchanges`: the simulated exchanges on their own, for any ccxt bot."""

import json
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from ssl import SSLContext
from urllib.parse import urlsplit

from exchanges.addresses import simulated_addresses
from exchanges.credentials import load_credentials
from exchanges.errors import AccountRejectedError
from exchanges.simulated_markets import cross_markets
from launch.errors import CannotStartError, LaunchError, StoppedError
from launch.setup.data_dir import check_writable, process_lock, ready_file, write_atomically
from launch.supervisor.ctrl_c import stop_event, unless_stopped
from launch.supervisor.ports import claim_web_port
from launch.supervisor.process_main import run_process
from market.accounting.transfer_terms import terms_of
from runtime.clock import wall_now
from runtime.event_loop import run_until_done
from session.session import Session
from session.simulated_market import DEFAULT_MARKET, MarketName
from simulators.binance.signing_keys import ensure_signing_keys, signing_keys
from simulators.catalogue import EXCHANGES
from simulators.faults.fault_kinds import FaultRejectedError
from simulators.faults.schedule import ScheduledFault, schedule_of
from simulators.market.chosen_market import ChosenMarket
from simulators.market.efficient_prices import Tape
from simulators.matching.transfer_records import TransferConditions
from simulators.server import LOOPBACK, ExchangesOptions, listed_symbols, run_exchanges
from simulators.web.account_keys import account_names

_ACCOUNTS = "exchanges-alone"
"""Separate accounts, so that no other bot trades on a session's."""
_TLS = "exchange_tls"
_LAST_PORT = 65_535
_WITH_SIGNING_KEYS = "binance"

Echo = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StandaloneOptions:
    """Options as on the command line; `faults` is SEED, SEED:PER_MINUTE or a file."""

    port: int
    seed: int
    json_file: Path | None
    only: tuple[str, ...]
    faults: str | None
    is_limited: bool = True
    market: MarketName = DEFAULT_MARKET
    accounts: int = 1
    has_own_ports: bool = False
    has_tls: bool = False
    socket_seconds: float | None = None
    has_crosses: bool = False


def run_standalone(home: Path, options: StandaloneOptions, echo: Echo) -> int:
    """Serve until the user stops it. Returns the exit code. Raises LaunchError if it cannot start or go on."""
    if options.has_crosses and options.market == "storm":
        raise CannotStartError("--crosses: a storm has no prices for crosses; choose --market calm or busy.")
    names = _checked_names(options.only)
    scheduled = _scheduled(options.faults, names)
    if options.json_file is not None:
        check_writable(options.json_file)
    own_ports = _own_ports(options.port, names) if options.has_own_ports else {}
    for port in (options.port, *own_ports.values()):
        claim_web_port(LOOPBACK, port)
    with process_lock(home, _ACCOUNTS):
        tls, ca = _tls(home) if options.has_tls else (None, None)
        served = ExchangesOptions(
            port=options.port,
            seed=options.seed,
            only=names,
            faults=scheduled,
            folder=_ACCOUNTS,
            is_limited=options.is_limited,
            market=ChosenMarket(options.market),
            accounts=options.accounts,
            own_ports=own_ports,
            tls=tls,
            socket_seconds=options.socket_seconds,
            has_crosses=options.has_crosses,
        )
        if _WITH_SIGNING_KEYS in names:
            ensure_signing_keys(home, account_names(_WITH_SIGNING_KEYS, options.accounts))
        ready = partial(_announce, home, options, served, ca, echo)
        return run_until_done(_until_stopped(home, served, ready))


def _tls(home: Path) -> tuple[SSLContext, Path]:
    """Return what the server needs, and the CA's file."""
    # imported here, because it takes a library that nothing else here needs
    from simulators.web.certificates import ensure_certificates

    certificates = ensure_certificates(home / _TLS, [_own_host(name) for name in EXCHANGES], wall_now())
    return certificates.server_context(), certificates.ca


def _announce(home: Path, options: StandaloneOptions, served: ExchangesOptions, ca: Path | None, echo: Echo) -> None:
    urls = _urls(served)
    if options.json_file is not None:
        content = json.dumps(ccxt_settings(home, urls, served.accounts, ca), indent=2)
        write_atomically(options.json_file, content.encode())
    echo(f"Simulated exchanges ({', '.join(urls)}): {_url(served, LOOPBACK, served.port)}")
    for name in served.own_ports:
        echo(f"  {name}: {urls[name]}")


def run_session_exchanges(session: Session, home: Path, host: str = LOOPBACK) -> int:
    """Serve the exchanges of the running session at `host`, their accounts in the data folder `home`. Returns the exit
    code."""
    if session.simulated.url is None:
        raise CannotStartError("this session trades on local paper accounts and has no simulated exchanges.")
    port = urlsplit(session.simulated.url).port or 0
    market = ChosenMarket(session.simulated.market.name, _tape(session))
    options = ExchangesOptions(
        port,
        session.seed,
        tuple(session.accounts_at),
        is_limited=session.simulated.rate_limits,
        market=market,
        bases=tuple(one for one in session.bases if one not in session.standby_assets),
        host=host,
        named_accounts={
            name: tuple(own for own in accounts if own != name) for name, accounts in session.accounts_at.items()
        },
        has_crosses=_has_crosses(session),
        transfers=_transfer_conditions(session),
    )
    detects = detection_seen(session.home, host)
    return run_process(home, "exchanges", lambda ready: run_exchanges(home, options, ready, detects))


def _transfer_conditions(session: Session) -> TransferConditions:
    """Return how networks behave in the session: by its terms, also those that a user wrote."""
    networks = session.simulated.networks
    terms = terms_of(session.reach.transfers)
    return TransferConditions(terms, networks.speed, networks.returned_share, networks.closed_share)


def _has_crosses(session: Session) -> bool:
    crosses = {(market.exchange, market.symbol) for market in cross_markets(session.bases)}
    return any((session.entry_of(market.exchange).ccxt, market.symbol) in crosses for market in session.traded)


def detection_seen(home: Path, host: str) -> Callable[[], bool]:
    """Return a test whether detection is ready, which dislocations wait for. Beyond loopback it runs elsewhere and
    leaves no ready file here, so they wait for nothing."""
    return ready_file(home, "cep").exists if host == LOOPBACK else lambda: True


def _tape(session: Session) -> Tape | None:
    folder = session.simulated.market.tape_folder
    if folder is None:
        return None
    # imported here: without a tape this process needs no pyarrow
    from launch.sessions.recorded_tape import tape_in

    return tape_in(folder, session.bases)


def ccxt_settings(
    home: Path, urls: Mapping[str, str], accounts: int = 1, ca: Path | None = None
) -> dict[str, dict[str, object]]:
    """Return per exchange the arguments of ccxt's constructor: `id`, `urls`, the keys of a funded test account, and
    with TLS the file of the CA; those of the other accounts are in `other_accounts`. Binance's accounts also have
    `signing_keys`, by kind."""
    settings: dict[str, dict[str, object]] = {}
    for name, url in urls.items():
        shared: dict[str, object] = {"id": name, "urls": {"api": simulated_addresses(name, url)}}
        if ca is not None:
            shared["cafile"] = str(ca)
        first, *others = (shared | _keys(home, account) for account in account_names(name, accounts))
        if name == _WITH_SIGNING_KEYS:
            for one, account in zip((first, *others), account_names(name, accounts), strict=True):
                one["signing_keys"] = _signing_keys(home, account)
        settings[name] = first | ({"other_accounts": others} if others else {})
    return settings


def _signing_keys(home: Path, account: str) -> dict[str, dict[str, str]]:
    return {kind: {"apiKey": keys.api_key, "secret": keys.secret} for kind, keys in signing_keys(home, account).items()}


def _keys(home: Path, account: str) -> dict[str, str]:
    keys = load_credentials(home, account)
    named = {"apiKey": keys.api_key, "secret": keys.secret, "password": keys.password, "uid": keys.uid}
    return {name: value for name, value in named.items() if value}


def _urls(served: ExchangesOptions) -> dict[str, str]:
    """Return where each exchange answers: at the root of its own port, or below its name."""
    shared = _url(served, LOOPBACK, served.port)
    urls = {name: f"{shared}/{name}" for name in served.only}
    return urls | {name: _url(served, _resolved_host(name), port) for name, port in served.own_ports.items()}


def _url(served: ExchangesOptions, host: str, port: int) -> str:
    return f"{'http' if served.tls is None else 'https'}://{host}:{port}"


def _resolved_host(name: str) -> str:
    """Return an address for the name, because not every system resolves names below localhost."""
    own = _own_host(name)
    try:
        found = socket.getaddrinfo(own, None, socket.AF_INET, socket.SOCK_STREAM)
    except OSError:
        return LOOPBACK
    return own if all(address[0] == LOOPBACK for *_, address in found) else LOOPBACK


def _own_host(name: str) -> str:
    return f"{name}.localhost"


def _own_ports(port: int, names: tuple[str, ...]) -> dict[str, int]:
    """Return the ports after the shared one; an exchange has the same whichever others are served. Raises
    CannotStartError."""
    if port + len(EXCHANGES) > _LAST_PORT:
        raise CannotStartError(f"--port {port} leaves too few ports for an own one of each exchange.")
    return {name: port + 1 + EXCHANGES.index(name) for name in names}


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
