"""The keys given to others: name, role, created time and a hash, in one file of the data folder.

A file and not MongoDB: the embedded database runs in a session alone, but keys are given and revoked at any time, and
outlive every session; a key also works while MongoDB does not. It is replaced as a whole, by one writer at a time, and
is on the disk before it is in place: a kill at any line leaves the old file or the new one.
"""

import fcntl
import logging
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from market.access import ANYBODY, OWNER, Role
from ui.errors import UiError

KEYS_FILE = "api_keys.json"
MOST_KEYS = 100
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_RESERVED = (OWNER, ANYBODY)

log = logging.getLogger("ui")


class KeyNameError(UiError):
    """No key can be given under that name, or there is none to revoke; the message says why."""


class KeysDamagedError(UiError):
    """The file of keys cannot be read as one."""


@dataclass(frozen=True, slots=True)
class KeptKey:
    """`created_at` in microseconds UTC; `digest` the SHA-256 of the key in hexadecimal."""

    name: str
    role: Role
    created_at: int
    digest: str


_KEYS = TypeAdapter(tuple[KeptKey, ...])


def read_keys(home: Path) -> tuple[KeptKey, ...]:
    """In the order they were given. A damaged file lets nobody in but the owner, and the log says so."""
    try:
        return _read(home)
    except KeysDamagedError as error:
        log.error("keys cannot be read", extra={"reason": str(error)})
        return ()


def add_key(home: Path, key: KeptKey) -> None:
    """Keep it. Raises KeyNameError where the name is taken or none, KeysDamagedError."""
    if not _NAME.fullmatch(key.name) or key.name in _RESERVED:
        raise KeyNameError(
            f"{key.name!r} cannot name a key: up to 40 of a-z, 0-9, '.', '_' and '-', and not {' or '.join(_RESERVED)}."
        )

    def added(keys: Sequence[KeptKey]) -> Sequence[KeptKey]:
        if any(known.name == key.name for known in keys):
            raise KeyNameError(f"There is a key {key.name!r} already; revoke that one or choose another name.")
        if len(keys) >= MOST_KEYS:
            raise KeyNameError(f"There are {MOST_KEYS} keys already; revoke those that nobody needs.")
        return (*keys, key)

    _replace(home, added)


def revoke_key(home: Path, name: str) -> KeptKey:
    """The key that counts no more. Raises KeyNameError where there is none of that name, KeysDamagedError."""
    revoked: list[KeptKey] = []

    def without(keys: Sequence[KeptKey]) -> Sequence[KeptKey]:
        revoked[:] = [key for key in keys if key.name == name]
        if not revoked:
            raise KeyNameError(f"There is no key {name!r}; `arbitrage keys list` names them all.")
        return [key for key in keys if key.name != name]

    _replace(home, without)
    return revoked[0]


def read_keys_strictly(home: Path) -> tuple[KeptKey, ...]:
    """Raises KeysDamagedError, so that a command can say so."""
    return _read(home)


def _read(home: Path) -> tuple[KeptKey, ...]:
    path = home / KEYS_FILE
    try:
        return _KEYS.validate_json(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, ValidationError):
        raise KeysDamagedError(
            f"{path} cannot be read as a list of keys; restore it, or delete it and give the keys anew."
        ) from None


def _replace(home: Path, change: Callable[[Sequence[KeptKey]], Sequence[KeptKey]]) -> None:
    home.mkdir(parents=True, exist_ok=True)
    path = home / KEYS_FILE
    with (home / f"{KEYS_FILE}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        keys = tuple(change(_read(home)))
        draft = path.with_name(f"{path.name}.new")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_KEYS.dump_json(keys, indent=2) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync_folder(home)


def _sync_folder(folder: Path) -> None:
    """The new name too must be on the disk: a revoked key must not come back with the power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
