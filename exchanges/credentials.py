"""Return API keys of one exchange account. They never appear in a repr, a log or an error."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exchanges.errors import AccountRejectedError

ARM_VARIABLE = "ARBITRAGE_ARM_LIVE"
"""Must be `yes` before anything is sent to a real exchange, or to its sandbox."""
EXCHANGES = ("binance", "bitflyer", "bitstamp", "coinbaseexchange", "kraken")
"""Exchanges that we can trade on."""
_WITH_PASSWORD = ("coinbaseexchange",)
_SUFFIXES = {"api_key": "KEY", "secret": "SECRET", "password": "PASSWORD", "uid": "UID"}
"""Field of Credentials → end of the variable's name."""
# those of notification destinations are read by another process
_KEY_VARIABLE = re.compile(rf"ARBITRAGE_(?!NOTICES_)[A-Z0-9_]+_({'|'.join(_SUFFIXES.values())})")
_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Credentials:
    """The fields as ccxt names them; `password` is coinbaseexchange's passphrase."""

    api_key: str = field(repr=False)
    secret: str = field(repr=False)
    password: str = field(default="", repr=False)
    uid: str = field(default="", repr=False)

    def hidden_in(self, text: str) -> str:
        """`text` without the keys: some exchanges repeat the key in their rejection."""
        for part in (self.api_key, self.secret, self.password, self.uid):
            if part:
                text = text.replace(part, _HIDDEN)
        return text


def credentials_path(home: Path) -> Path:
    return home / "exchange_accounts.json"


def load_credentials(home: Path, exchange: str) -> Credentials:
    """Return API keys of a simulated exchange's test account. Raises AccountRejectedError if there are none."""
    path = credentials_path(home)
    try:
        keys = json.loads(path.read_text())[exchange]
        return Credentials(keys["apiKey"], keys["secret"], keys.get("password", ""), keys.get("uid", ""))
    except FileNotFoundError:
        raise AccountRejectedError(f"{path} is missing: the simulated exchanges have not been started yet") from None
    except (KeyError, TypeError, ValueError):
        raise AccountRejectedError(f"{path} contains no valid API keys for {exchange}") from None


def key_variables(exchange: str, is_sandbox: bool, fields: Collection[str] | None = None) -> dict[str, str]:
    """Environment variables of an account's credentials, by field; a sandbox has its own.

    `fields`: those that it needs, if `exchange` is no name of ccxt's.
    """
    prefix = f"ARBITRAGE_{'SANDBOX_' if is_sandbox else ''}{exchange.upper()}_"
    return {field: prefix + _SUFFIXES[field] for field in fields or own_key_fields(exchange)}


def own_key_fields(ccxt_id: str) -> tuple[str, ...]:
    """Fields of the credentials of an exchange with adapters of our own."""
    return ("api_key", "secret", "password") if ccxt_id in _WITH_PASSWORD else ("api_key", "secret")


def key_variables_of(exchange: str) -> set[str]:
    """All environment variables that may contain an API key of this exchange."""
    return {name for box in (False, True) for name in key_variables(exchange, box, _SUFFIXES).values()}


def is_key_variable(name: str) -> bool:
    """Whether it may contain an API key, of whatever exchange."""
    return _KEY_VARIABLE.fullmatch(name) is not None


def environment_credentials(
    exchange: str,
    environment: Mapping[str, str],
    is_sandbox: bool = False,
    fields: Collection[str] | None = None,
) -> Credentials:
    """Return API keys of a real exchange. Raises AccountRejectedError, naming each variable that is missing."""
    variables = key_variables(exchange, is_sandbox, fields)
    missing = [name for name in variables.values() if not environment.get(name, "").strip()]
    if missing:
        kind = "sandbox" if is_sandbox else "live"
        raise AccountRejectedError(f"{kind} trading on {exchange} needs {' and '.join(missing)} in the environment")
    return Credentials(**{part: environment[name].strip() for part, name in variables.items()})
