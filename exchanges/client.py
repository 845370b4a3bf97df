"""The one way to a ccxt client: the same class live and simulated, only addresses and keys differ."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import ccxt.async_support
import ccxt.pro

from exchanges.addresses import simulated_addresses
from exchanges.credentials import Credentials, environment_credentials, load_credentials
from exchanges.errors import AccountRefusedError

ARM_VARIABLE = "ARBITRAGE_ARM_LIVE"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# A dead connection is given up after two unanswered pings; ccxt's own 30 s would leave a feed blind for over a minute.
_KEEP_ALIVE_MS = 3_000
_TIMEOUT_MS = 5_000
# The simulated exchanges set no limit; the limiter still runs, so that both modes take the same path.
_SIMULATED_RATE_LIMIT_MS = 1


@dataclass(frozen=True, slots=True)
class ExchangeConfig:
    """Which exchange, where, and whose account. `base_url` is the simulated exchange's own path; None where live."""

    exchange: str
    mode: Literal["live", "simulated"]
    base_url: str | None
    credentials: Credentials | None


def simulated_config(exchange: str, exchanges_url: str, home: Path) -> ExchangeConfig:
    """One of the simulated exchanges below `exchanges_url`. Raises AccountRefusedError where keys are missing."""
    base_url = f"{exchanges_url.rstrip('/')}/{exchange}"
    return ExchangeConfig(exchange, "simulated", base_url, load_credentials(home, exchange))


def live_config(exchange: str, environment: Mapping[str, str]) -> ExchangeConfig:
    """Raises AccountRefusedError unless live trading is armed and keys are in `environment`."""
    if environment.get(ARM_VARIABLE) != "yes":
        raise AccountRefusedError(f"live trading is not armed: set {ARM_VARIABLE}=yes to trade on {exchange}")
    return ExchangeConfig(exchange, "live", None, environment_credentials(exchange, environment))


def make_exchange(config: ExchangeConfig, environment: Mapping[str, str] | None = None) -> Any:
    """A ccxt.pro client, or ccxt.async_support where ccxt streams nothing (bitFlyer). The caller closes it.

    Raises AccountRefusedError where live trading is not armed in `environment`, or where an address is neither loopback
    (simulated) nor https (live). The client is dynamic by nature: whoever calls it turns answers into values at once.
    """
    streaming = getattr(ccxt.pro, config.exchange, None)
    client_class = streaming or getattr(ccxt.async_support, config.exchange)
    client = client_class(_settings(config))
    # ccxt logs request headers at debug level.
    client.logger.setLevel(logging.WARNING)
    client.streaming = {**client.streaming, "keepAlive": _KEEP_ALIVE_MS}
    if config.mode == "simulated":
        client.urls["api"] = simulated_addresses(config.exchange, config.base_url or "")
        client.hostname = urlsplit(config.base_url or "").netloc
        _insist(client, lambda url: urlsplit(url).hostname in _LOOPBACK, "is not on loopback")
        return client
    if (environment or {}).get(ARM_VARIABLE) != "yes":
        raise AccountRefusedError(f"live trading is not armed: set {ARM_VARIABLE}=yes to trade on {config.exchange}")
    _insist(client, lambda url: urlsplit(url).scheme in ("https", "wss"), "is not encrypted")
    return client


def _settings(config: ExchangeConfig) -> dict[str, object]:
    settings: dict[str, object] = {
        "enableRateLimit": True,
        # The default bucket is not refilled while idle: each call after the first would wait a whole rateLimit.
        "rateLimiterAlgorithm": "rollingWindow",
        "timeout": _TIMEOUT_MS,
        # Deflate costs a tenth of a core and saves little.
        "options": {"ws": {"compress": 0, "options": {"compress": 0}}, "maxRetriesOnFailure": 0},
    }
    if config.mode == "simulated":
        settings["rateLimit"] = _SIMULATED_RATE_LIMIT_MS
    keys = config.credentials
    if keys is not None:
        settings |= {"apiKey": keys.api_key, "secret": keys.secret, "password": keys.password, "uid": keys.uid}
    return settings


def _insist(client: Any, is_right: Any, fault: str) -> None:
    for url in _leaves(client.urls["api"]):
        if not is_right(url):
            raise AccountRefusedError(f"{client.id}: the address {url} {fault}")


def _leaves(tree: object) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, Mapping):
        for branch in tree.values():
            yield from _leaves(branch)
