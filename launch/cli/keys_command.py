"""`arbitrage keys`: give somebody a key of their own, and take it back. Works with and without a running session."""

import argparse
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from launch.errors import CannotStartError, LaunchError
from market.time_units import MICROSECONDS
from session.clock import wall_now
from session.roles import Role
from ui.auth.api_keys import digest_of, ensure_api_key, keys_folder, new_key, owner_key
from ui.auth.key_store import StoredKey, add_key, read_keys_strictly, revoke_key
from ui.errors import UiError

Say = Callable[[str], None]
Result = TypeVar("Result")


def run_keys(home: Path, arguments: argparse.Namespace, say: Say) -> int:
    """`work` of the arguments says which. Raises LaunchError."""
    if arguments.work == "add":
        return give_key(home, arguments.name, arguments.role, say)
    return list_keys(home, say) if arguments.work == "list" else take_key_back(home, arguments.name, say)


def give_key(home: Path, name: str, role: Role, say: Say) -> int:
    """Make a key and say it once: what is kept cannot be turned back into it. Raises LaunchError."""
    key = new_key()
    _told(home, lambda folder: add_key(folder, StoredKey(name, role, wall_now(), digest_of(key))))
    say(f"key of {name} ({role}), shown this once and kept as a hash alone:")
    say(key)
    return 0


def list_keys(home: Path, say: Say) -> int:
    """Names, roles and since when; never a key. Raises LaunchError."""
    given = _told(home, read_keys_strictly)
    for key in (owner_key(home), *given):
        since = datetime.fromtimestamp(key.created_at / MICROSECONDS, UTC)
        say(f"{key.name:<40} {key.role:<9} since {since:%Y-%m-%d %H:%M:%S} UTC")
    say(f"the owner's key lies in {ensure_api_key(home)}; whoever may read that file is the owner")
    return 0


def take_key_back(home: Path, name: str, say: Say) -> int:
    """It counts no more, from the next request on. Raises LaunchError."""
    key = _told(home, lambda folder: revoke_key(folder, name))
    say(f"the key of {key.name} ({key.role}) counts no more")
    return 0


def _told(home: Path, work: Callable[[Path], Result]) -> Result:
    try:
        ensure_api_key(home)
        return work(keys_folder(home))
    except UiError as error:
        raise LaunchError(str(error)) from None
    except OSError as error:
        raise CannotStartError(f"{home}: cannot be used as the data folder ({error.strerror}).") from None
