"""Where a configuration comes from: a file, and environment variables that override it. Whoever needs no more than to
know that there is none is spared the seconds of its import."""

from collections.abc import Mapping
from pathlib import Path

DEFAULT_FILE = "arbitrage.toml"
ENVIRONMENT = {
    "ARBITRAGE_KAFKA": "kafka",
    "ARBITRAGE_MONGODB": "mongodb",
    "ARBITRAGE_KAFKA_CA": "kafka_ca",
    "ARBITRAGE_MONGODB_CA": "mongodb_ca",
    "ARBITRAGE_PLAIN_TEXT_HOSTS": "plain_text_hosts",
    "ARBITRAGE_BIND": "bind",
    "ARBITRAGE_PORT": "port",
}
"""Environment variables that override the file."""


def overrides_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Return key of the configuration → its value."""
    return {ENVIRONMENT[name]: value for name, value in environment.items() if name in ENVIRONMENT and value}


def is_configured(path: Path | None, environment: Mapping[str, str]) -> bool:
    """Return whether anything is but what it is by default."""
    return path is not None or Path(DEFAULT_FILE).exists() or bool(overrides_in(environment))
