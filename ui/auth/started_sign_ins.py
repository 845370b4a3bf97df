"""Which browsers are signed in: a list in a file of the data folder, since a cookie is known to its browser alone.

A sign-in that the disk does not take is valid all the same, and is not listed.
"""

import logging
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from runtime.clock import wall_now
from ui.auth.callers import Role
from ui.auth.private_files import replace_file

SIGN_INS_FILE = "sign_ins.json"
MOST_OF_A_KEY = 50
"""So that no key can fill the list, and none of its browsers is left that an operator could not sign out."""
LONGEST_TEXT = 200

log = logging.getLogger("ui")


@dataclass(frozen=True, slots=True)
class StartedSignIn:
    """One sign-in of a browser. Times in microseconds UTC; `mark`: of the key that it was made with; `browser` as it
    says of itself."""

    identity: str
    name: str
    role: Role
    mark: str
    began_at: int
    ends_at: int
    address: str = ""
    browser: str = ""

    @property
    def sign_in_id(self) -> str:
        """Return what it is called outside: nothing that its cookie holds."""
        return sha256(self.identity.encode()).hexdigest()[:16]


_FILE = TypeAdapter(tuple[StartedSignIn, ...])


def started_sign_ins(folder: Path) -> tuple[StartedSignIn, ...]:
    """Return those that are not over by their time, the newest first; none if the file cannot be read."""
    now = wall_now()
    return tuple(one for one in reversed(_read(folder / SIGN_INS_FILE)) if one.ends_at > now)


def list_sign_in(folder: Path, started: StartedSignIn) -> list[StartedSignIn]:
    """Add it, and drop those that are over. Return the oldest of its key beyond `MOST_OF_A_KEY`, which are not listed
    any more."""
    path, now = folder / SIGN_INS_FILE, wall_now()
    dropped: list[StartedSignIn] = []

    def content() -> bytes:
        kept = [*(one for one in _read(path) if one.ends_at > now), started]
        dropped[:] = [one for one in kept if one.name == started.name][:-MOST_OF_A_KEY]
        gone = {one.identity for one in dropped}
        return _FILE.dump_json(tuple(one for one in kept if one.identity not in gone))

    try:
        replace_file(path, content)
    except OSError as error:
        log.warning("sign-in not listed", extra={"who": started.name, "error": str(error)})
        return []
    return dropped


def _read(path: Path) -> list[StartedSignIn]:
    try:
        return list(_FILE.validate_json(path.read_bytes()))
    except FileNotFoundError:
        return []
    except (OSError, ValidationError) as error:
        log.warning("list of sign-ins not read", extra={"error": type(error).__name__, "file": str(path)})
        return []
