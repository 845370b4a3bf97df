"""`arbitrage keys`: adds, lists and revokes API keys. Works with and without a running session."""

import argparse
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from launch.errors import CannotStartError, LaunchError
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from ui.auth.api_keys import digest_of, ensure_api_key, keys_folder, new_key, owner_key
from ui.auth.callers import Role
from ui.auth.key_store import StoredKey, add_key, read_keys_strictly, revoke_key
from ui.errors import UiError

Echo = Callable[[str], None]
Result = TypeVar("Result")


def run_keys(home: Path, arguments: argparse.Namespace, echo: Echo) -> int:
    """Run the subcommand named by `work`. Raises LaunchError."""
    if arguments.work == "add":
        return issue_key(home, arguments.name, arguments.role, echo)
    return list_keys(home, echo) if arguments.work == "list" else revoke_named_key(home, arguments.name, echo)


def issue_key(home: Path, name: str, role: Role, echo: Echo) -> int:
    """Create a key and print it once: only its hash is stored. Raises LaunchError."""
    key = new_key()
    _with_keys_folder(home, lambda folder: add_key(folder, StoredKey(name, role, wall_now(), digest_of(key))))
    echo(f"key of {name} ({role}), shown only once and stored as a hash:")
    echo(key)
    return 0


def list_keys(home: Path, echo: Echo) -> int:
    """Print names, roles and creation times, never a key. Raises LaunchError."""
    given = _with_keys_folder(home, read_keys_strictly)
    for key in (owner_key(home), *given):
        since = datetime.fromtimestamp(key.created_at / MICROSECONDS, UTC)
        echo(f"{key.name:<40} {key.role:<9} since {since:%Y-%m-%d %H:%M:%S} UTC")
    echo(f"the owner's key is in {ensure_api_key(home)}; whoever can read that file is the owner")
    return 0


def revoke_named_key(home: Path, name: str, echo: Echo) -> int:
    """Revoke the key, from the next request on. Raises LaunchError."""
    key = _with_keys_folder(home, lambda folder: revoke_key(folder, name))
    echo(f"key of {key.name} ({key.role}) revoked")
    return 0


def _with_keys_folder(home: Path, work: Callable[[Path], Result]) -> Result:
    try:
        ensure_api_key(home)
        return work(keys_folder(home))
    except UiError as error:
        raise LaunchError(str(error)) from None
    except OSError as error:
        raise CannotStartError(f"{home}: cannot be used as the data folder ({error.strerror}).") from None
