"""Creates ccxt clients: the same class for live, sandbox and simulated; only addresses and API keys differ."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from exchanges.addresses import Place, address_fault, every_address, simulated_addresses
from exchanges.catalogue import EXCHANGES, facts_of, sandboxes
from exchanges.credentials import Credentials, load_credentials
from exchanges.errors import AccountRejectedError
from exchanges.key_variables import ARM_VARIABLE, environment_credentials, own_key_fields
from exchanges.log_redaction import redacting_logger
from exchanges.ports.limits import LimitRules
from exchanges.requests.rate_budget import RateBudget, full_budget
from exchanges.requests.rate_limits import entry_rules, generic_rules
from exchanges.requests.time_synced_signing import client_class
from session.exchange_entries import ExchangeEntry
from session.session import Session

# A dead connection is dropped after two unanswered pings; ccxt's own 30 s would leave a feed blind for over a minute.
_KEEP_ALIVE_MS = 3_000
_TIMEOUT_MS = 5_000
_FIELDS = {"apiKey": "api_key", "secret": "secret", "password": "password", "uid": "uid"}
"""ccxt's names of credentials → ours."""


@dataclass(frozen=True, slots=True)
class ExchangeConfig:
    """Exchange, place and account of a client.

    `base_url` is the root of a simulated exchange's or a gateway's addresses; None for the exchange's own.
    """

    exchange: str
    mode: Place
    base_url: str | None
    credentials: Credentials | None
    is_limited: bool = True
    """Whether requests respect the exchange's rate limits; only simulated exchanges may be used without, for load
    tests."""
    listed_as: ExchangeEntry | None = None
    """None: ccxt's exchange of that name, with our own reader and orders."""

    @property
    def entry(self) -> ExchangeEntry:
        return self.listed_as or ExchangeEntry(self.exchange)


def simulated_config(
    exchange: str, exchanges_url: str, home: Path, *, is_limited: bool = True, entry: ExchangeEntry | None = None
) -> ExchangeConfig:
    """One of the simulated exchanges below `exchanges_url`. Raises AccountRejectedError if API keys are missing."""
    base_url = f"{exchanges_url.rstrip('/')}/{exchange if entry is None else entry.ccxt}"
    keys = load_credentials(home, f"{exchange}{_key_of_socket(entry)}")
    return ExchangeConfig(exchange, "simulated", base_url, keys, is_limited, entry)


def _key_of_socket(entry: ExchangeEntry | None) -> str:
    """Return the end of the account's name in the file of keys, if orders are to go over a socket that wants another
    key than the usual."""
    facts = facts_of(entry.ccxt) if entry is not None and entry.order_transport == "socket" else None
    return "" if facts is None or facts.order_socket is None else facts.order_socket.simulated_key


def live_config(
    exchange: str,
    environment: Mapping[str, str],
    mode: Place = "live",
    base_url: str | None = None,
    entry: ExchangeEntry | None = None,
) -> ExchangeConfig:
    """Return a real exchange or its sandbox. Raises AccountRejectedError unless `environment` arms live trading and has
    API keys."""
    _check_armed(exchange, environment)
    own = entry or ExchangeEntry(exchange)
    if mode == "sandbox" and own.ccxt not in sandboxes():
        raise AccountRejectedError(f"{exchange} has no sandbox, only {' and '.join(sandboxes())} have")
    fields = _key_fields(own)
    keys = environment_credentials(exchange, environment, mode == "sandbox", fields)
    return ExchangeConfig(exchange, mode, base_url, keys, listed_as=entry)


def session_config(session: Session, exchange: str, environment: Mapping[str, str]) -> ExchangeConfig:
    """Return the session's account; API keys of real accounts come from `environment`. Raises AccountRejectedError."""
    entry = session.entry_of(exchange)
    if session.mode in ("live", "sandbox"):
        place: Place = "live" if session.mode == "live" else "sandbox"
        return live_config(exchange, environment, place, gateway_url(session, exchange), entry)
    if session.simulated.url is None:
        raise AccountRejectedError("this session trades on local paper accounts and has no account at an exchange")
    return simulated_config(
        exchange, session.simulated.url, session.home, is_limited=session.simulated.rate_limits, entry=entry
    )


def public_config(session: Session, exchange: str) -> ExchangeConfig:
    """Public data of a real exchange: no API keys, so no account."""
    return ExchangeConfig(
        exchange, "public", gateway_url(session, exchange), None, listed_as=session.entry_of(exchange)
    )


def gateway_url(session: Session, exchange: str) -> str | None:
    """Root of the exchange's addresses behind a gateway; None if there is no gateway."""
    root = session.reach.gateways.get(exchange)
    return None if root is None else f"{root.rstrip('/')}/{session.entry_of(exchange).ccxt}"


def make_exchange(
    config: ExchangeConfig,
    environment: Mapping[str, str] | None = None,
    budget: RateBudget | None = None,
    *,
    posts_only: bool = False,
) -> Any:
    """Return a ccxt client within `budget`, or within the exchange's full rate limits. The caller closes it.

    `posts_only`: it posts permitted orders (`exchanges.ports.permits`) and sends nothing else.

    Raises AccountRejectedError if live trading is not armed in `environment` or lacks API keys, or if an address
    is neither on loopback or in a private network (simulated) nor remote and https (live, sandbox). The client is
    untyped: callers convert its answers to typed values at once.
    """
    if config.mode == "public":
        config = replace(config, credentials=None)
    elif config.mode != "simulated":
        _check_armed(config.exchange, environment or {})
        if config.credentials is None:
            raise AccountRejectedError(f"{config.mode} trading on {config.exchange} needs API keys")
    client = client_class(config.entry.ccxt)(_settings(config))
    client.streaming = {**client.streaming, "keepAlive": _KEEP_ALIVE_MS}
    client.posts_only = posts_only
    client.budget = (budget or full_budget(config.exchange, limit_rules(config))) if _is_limited(config) else None
    client.urls = {"api": _addresses(client, config)}
    if config.base_url is not None:
        client.hostname = urlsplit(config.base_url).netloc
    for address in every_address(client.urls):
        fault = address_fault(config.mode, client.implode_hostname(address))
        if fault is not None:
            raise AccountRejectedError(
                f"{config.mode} {client.id}: the address {client.implode_hostname(address)} {fault}"
            )
    return client


def limit_rules(config: ExchangeConfig) -> LimitRules:
    """Return the exchange's documented limits, or what ccxt knows of them. Raises AccountRejectedError if there is no
    such exchange."""
    rules = entry_rules(config.entry)
    if rules is not None:
        return rules
    rate_limit_ms = client_class(config.entry.ccxt)().rateLimit
    if not config.entry.is_generic:
        raise AccountRejectedError(f"{config.exchange} has no adapter of our own, only {', '.join(EXCHANGES)} have")
    return replace(generic_rules(rate_limit_ms), at_one_address=config.entry.at_one_address)


def _key_fields(entry: ExchangeEntry) -> tuple[str, ...]:
    """Fields of the credentials that the exchange needs. Raises AccountRejectedError if ours has no such field."""
    if not entry.is_generic:
        return own_key_fields(entry.ccxt)
    needed = [name for name, is_needed in client_class(entry.ccxt)().requiredCredentials.items() if is_needed]
    if unknown := [name for name in needed if name not in _FIELDS]:
        raise AccountRejectedError(f"{entry.ccxt} needs {' and '.join(unknown)}, which is not supported")
    return tuple(_FIELDS[name] for name in needed)


def _check_armed(exchange: str, environment: Mapping[str, str]) -> None:
    if environment.get(ARM_VARIABLE) != "yes":
        raise AccountRejectedError(f"live trading is not armed: set {ARM_VARIABLE}=yes to trade on {exchange}")


def _addresses(client: Any, config: ExchangeConfig) -> object:
    """All addresses of the client: any that remained from ccxt would lead to another place."""
    if config.base_url is not None or config.mode == "simulated":
        return simulated_addresses(config.entry.ccxt, config.base_url or "")
    if config.mode in ("live", "public"):
        return client.urls["api"]
    sandbox = client.urls.get("test")
    if not sandbox:
        raise AccountRejectedError(f"{config.exchange} has no sandbox")
    return deepcopy(sandbox)


def _is_limited(config: ExchangeConfig) -> bool:
    return config.is_limited or config.mode != "simulated"


def _settings(config: ExchangeConfig) -> dict[str, object]:
    settings: dict[str, object] = {
        # ccxt calls `throttle` before each request, which `exchanges.requests.budgeted_client` implements.
        "enableRateLimit": True,
        "timeout": _TIMEOUT_MS,
        # With a normal logger ccxt would log headers with API keys at debug level.
        "logger": redacting_logger(f"{__name__}.{config.exchange}"),
        # Compression costs a tenth of a core and saves little.
        "options": {"ws": {"compress": 0, "options": {"compress": 0}}, "maxRetriesOnFailure": 0},
    }
    if config.mode == "simulated":
        # ccxt waits so long at the end of each client for TLS connections to close; here there is no TLS
        settings["timeout_on_exit"] = 0
    keys = config.credentials
    if keys is not None:
        settings |= {name: getattr(keys, field) for name, field in _FIELDS.items()}
    return settings
