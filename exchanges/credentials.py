"""Keys of one exchange account. They never appear in a repr, a log or an error."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exchanges.errors import AccountRefusedError


@dataclass(frozen=True, slots=True)
class Credentials:
    """As ccxt names them; `password` is coinbaseexchange's passphrase."""

    api_key: str = field(repr=False)
    secret: str = field(repr=False)
    password: str = field(default="", repr=False)
    uid: str = field(default="", repr=False)


def credentials_path(home: Path) -> Path:
    return home / "exchange_accounts.json"


def load_credentials(home: Path, exchange: str) -> Credentials:
    """Keys of a simulated exchange's test account. Raises AccountRefusedError where there are none."""
    path = credentials_path(home)
    try:
        keys = json.loads(path.read_text())[exchange]
        return Credentials(keys["apiKey"], keys["secret"], keys.get("password", ""), keys.get("uid", ""))
    except FileNotFoundError:
        raise AccountRefusedError(f"{path} is missing: the simulated exchanges have not been started yet") from None
    except (KeyError, TypeError, ValueError):
        raise AccountRefusedError(f"{path} holds no usable keys for {exchange}") from None


def environment_credentials(exchange: str, environment: Mapping[str, str]) -> Credentials:
    """Live keys from ARBITRAGE_<EXCHANGE>_KEY, _SECRET, _PASSWORD, _UID. Raises AccountRefusedError."""
    prefix = f"ARBITRAGE_{exchange.upper()}_"
    key, secret = environment.get(f"{prefix}KEY", ""), environment.get(f"{prefix}SECRET", "")
    if not key or not secret:
        raise AccountRefusedError(f"live trading on {exchange} needs {prefix}KEY and {prefix}SECRET in the environment")
    return Credentials(key, secret, environment.get(f"{prefix}PASSWORD", ""), environment.get(f"{prefix}UID", ""))
