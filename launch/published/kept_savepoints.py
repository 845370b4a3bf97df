"""Savepoints of published apps: files in the data folder, by the app's name and the time at which each was taken."""

import re
from datetime import UTC, datetime
from pathlib import Path

from cep.apps.engine.savepoints import Savepoint
from launch.apps.savepoints import savepoint_in, write_savepoint
from launch.errors import CannotStartError
from market.time_units import MICROSECONDS

FOLDER = "savepoints"
SUFFIX = ".savepoint"
MOST_KEPT = 50
"""Of one app; the user's own files, so none is removed by itself."""
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}Z", re.ASCII)


def keep_savepoint(home: Path, savepoint: Savepoint) -> str:
    """Write it; return its name. Raises CannotStartError if there is one of this second, or there are too many."""
    folder = home / FOLDER / savepoint.app
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStartError(f"{folder}: cannot be made ({error.strerror or error}).") from error
    if len(savepoint_names(home, savepoint.app)) >= MOST_KEPT:
        raise CannotStartError(f"{folder}: has {MOST_KEPT} savepoints; remove some that nobody needs.")
    name = datetime.fromtimestamp(savepoint.taken_at // MICROSECONDS, UTC).strftime("%Y%m%dT%H%M%SZ")
    write_savepoint(savepoint, folder / f"{name}{SUFFIX}")
    return name


def savepoint_names(home: Path, app: str) -> list[str]:
    """Return the names of an app's savepoints, newest first."""
    return sorted((path.stem for path in (home / FOLDER / app).glob(f"*{SUFFIX}")), reverse=True)


def kept_savepoint(home: Path, app: str, name: str) -> Savepoint:
    """Raise CannotStartError if there is none of that name, or it is damaged."""
    path = home / FOLDER / app / f"{name}{SUFFIX}"
    if not _NAME.fullmatch(name) or not path.is_file():
        known = ", ".join(savepoint_names(home, app)[:5]) or "none"
        raise CannotStartError(f"the app {app} has no savepoint {name[:40]!r}; the newest are: {known}.")
    return savepoint_in(path)
