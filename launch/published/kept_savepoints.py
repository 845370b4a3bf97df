"""Savepoints of published apps: files in the data folder, by the app's name and the time at which each was taken."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cep.apps.engine.savepoints import Savepoint
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.hosted_app import AppSource
from launch.apps.savepoints import NotYetSavedError, log_label, savepoint_in, taken_savepoint, write_savepoint
from launch.errors import CannotStartError
from launch.published.hosted import CannotRunError, published_source
from launch.published.takeover import SavedState
from market.time_units import MICROSECONDS
from session.session import Session
from store.records.apps import AppVersion, StoredApp, is_app_name

FOLDER = "savepoints"
SUFFIX = ".savepoint"
MOST_KEPT = 50
"""Of one app; the user's own files, so none is removed by itself."""
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}Z", re.ASCII)


def savepoint_of(session: Session, source: AppSource, folder: Path) -> Mapping[str, Any]:
    """Keep what a running app has kept, as of its newest snapshots in `folder`; return name and size. Raises
    CannotStartError, NotYetSavedError among them."""
    taken = taken_savepoint(source, folder, log_label(session.session_id, source))
    name = keep_savepoint(session.home, taken)
    return {"savepoint": name, "bytes": sum(map(len, taken.parts.values()))}


def saved_state(session: Session, terms: OperatorTerms, app: StoredApp) -> SavedState | None:
    """Return what the app had kept at the savepoint to begin with, if any. Raises CannotStartError, CannotRunError."""
    name = app.savepoint
    if not name:
        return None
    found = kept_savepoint(session.home, app.name, name)
    source = published_source(session, AppVersion(found.app, 0, found.text, "", 0), terms)
    if source.digest != found.digest:
        raise CannotRunError(f"the savepoint {name} was taken with other functions or variables")
    return SavedState(source, found.parts)


def keep_savepoint(home: Path, savepoint: Savepoint) -> str:
    """Write it; return its name. Raises NotYetSavedError if there is one of this second, CannotStartError if there are
    too many."""
    folder = home / FOLDER / savepoint.app
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStartError(f"{folder}: cannot be made ({error.strerror or error}).") from error
    if len(savepoint_names(home, savepoint.app)) >= MOST_KEPT:
        raise CannotStartError(f"{folder}: has {MOST_KEPT} savepoints; remove some that nobody needs.")
    name = datetime.fromtimestamp(savepoint.taken_at // MICROSECONDS, UTC).strftime("%Y%m%dT%H%M%SZ")
    if name in savepoint_names(home, savepoint.app):
        raise NotYetSavedError(f"{folder}: has a savepoint of this second; ask again in the next.")
    write_savepoint(savepoint, folder / f"{name}{SUFFIX}")
    return name


def savepoint_names(home: Path, app: str) -> list[str]:
    """Return the names of an app's savepoints, newest first; none of what is no app's name."""
    if not is_app_name(app):
        return []
    return sorted((path.stem for path in (home / FOLDER / app).glob(f"*{SUFFIX}")), reverse=True)


def kept_savepoint(home: Path, app: str, name: str) -> Savepoint:
    """Raise CannotStartError if there is none of that name, or it is damaged."""
    path = home / FOLDER / app / f"{name}{SUFFIX}"
    if not _NAME.fullmatch(name) or not path.is_file():
        known = ", ".join(savepoint_names(home, app)[:5]) or "none"
        raise CannotStartError(f"the app {app} has no savepoint {name[:40]!r}; the newest are: {known}.")
    return savepoint_in(path)
