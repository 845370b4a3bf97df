"""The stored keys: name, role, time of creation and hash, in one file of the data folder.

It is a file and not MongoDB, because the embedded database only runs during a session, but keys are added and revoked
at any time, outlive every session, and work while MongoDB is down.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from runtime.clock import wall_now
from ui.auth.callers import ANYBODY, OWNER, Caller, Role
from ui.auth.private_files import replace_file
from ui.errors import UiError

KEYS_FILE = "api_keys.json"
MAX_KEYS = 100
MAX_CHANGES = 200
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_RESERVED = (OWNER, ANYBODY)

log = logging.getLogger("ui")


class KeyNameError(UiError):
    """No key can be added under that name, or there is none to revoke; the message says why."""


class KeysDamagedError(UiError):
    """The file of keys cannot be read."""


@dataclass(frozen=True, slots=True)
class StoredKey:
    """`created_at` in microseconds UTC; `digest` the SHA-256 of the key in hexadecimal."""

    name: str
    role: Role
    created_at: int
    digest: str = field(repr=False)

    @property
    def mark(self) -> str:
        """Distinguishes it from another key of the same name without revealing its hash."""
        return sha256(self.digest.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A key that was added or revoked, kept for the audit log. `at` in microseconds UTC; `means` "command": whoever may
    write into the data folder is its owner."""

    change_id: str
    at: int
    action: Literal["key.add", "key.revoke"]
    name: str
    role: Role
    who: str = OWNER
    means: str = "command"
    address: str = ""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The contents of the file."""

    keys: tuple[StoredKey, ...] = ()
    changes: tuple[KeyChange, ...] = ()


_FILE = TypeAdapter(_Kept)


def read_keys(folder: Path) -> tuple[StoredKey, ...]:
    """Return the keys by creation. If the file is damaged, only the owner's key is valid, and the log says so."""
    try:
        return _read(folder).keys
    except KeysDamagedError as error:
        log.error("keys unreadable", extra={"reason": str(error)})
        return ()


def add_key(folder: Path, key: StoredKey, by: Caller | None = None) -> None:
    """Store it. `by`: an operator, by REST. Raises KeyNameError for a taken or invalid name, KeysDamagedError."""
    if not _NAME.fullmatch(key.name) or key.name in _RESERVED:
        raise KeyNameError(
            f"{key.name!r} cannot name a key: up to 40 of a-z, 0-9, '.', '_' and '-', and not {' or '.join(_RESERVED)}."
        )

    def added(kept: _Kept) -> _Kept:
        keys = kept.keys
        if any(known.name == key.name for known in keys):
            raise KeyNameError(f"There is a key {key.name!r} already; revoke that one or choose another name.")
        if len(keys) >= MAX_KEYS:
            raise KeyNameError(f"There are {MAX_KEYS} keys already; revoke unused ones.")
        return _Kept((*keys, key), _noted(kept, "key.add", key, by))

    _replace(folder, added)


def revoke_key(folder: Path, name: str, by: Caller | None = None) -> StoredKey:
    """Return the revoked key. `by` as for `add_key`. Raises KeyNameError if there is none of that name,
    KeysDamagedError."""
    revoked: list[StoredKey] = []

    def without(kept: _Kept) -> _Kept:
        revoked[:] = [key for key in kept.keys if key.name == name]
        if not revoked:
            raise KeyNameError(f"There is no key {name!r}; `arbitrage keys list` names them all.")
        remaining = tuple(key for key in kept.keys if key.name != name)
        return _Kept(remaining, _noted(kept, "key.revoke", revoked[0], by))

    _replace(folder, without)
    return revoked[0]


def read_keys_strictly(folder: Path) -> tuple[StoredKey, ...]:
    """Return the keys as `read_keys` does, for commands. Raises KeysDamagedError."""
    return _read(folder).keys


def read_changes(folder: Path) -> tuple[KeyChange, ...]:
    """Return the newest changes, oldest first. Raises KeysDamagedError."""
    return _read(folder).changes


def _noted(
    kept: _Kept, action: Literal["key.add", "key.revoke"], key: StoredKey, by: Caller | None
) -> tuple[KeyChange, ...]:
    change = KeyChange(uuid4().hex, wall_now(), action, key.name, key.role)
    if by is not None:
        change = replace(change, who=by.name, means=by.means, address=by.address)
    return (*kept.changes, change)[-MAX_CHANGES:]


def _read(folder: Path) -> _Kept:
    path = folder / KEYS_FILE
    try:
        return _FILE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return _Kept()
    except (OSError, ValidationError):
        raise KeysDamagedError(
            f"{path} cannot be read as a list of keys; restore it, or delete it and add the keys again."
        ) from None


def _replace(folder: Path, change: Callable[[_Kept], _Kept]) -> None:
    replace_file(folder / KEYS_FILE, lambda: _FILE.dump_json(change(_read(folder)), indent=2) + b"\n")
