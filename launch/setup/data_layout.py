"""The layout, by number, of a session's data in the data folder and in MongoDB.

Steps lead from some earlier layouts to this one (`launch.backup.migration`); all else is set aside.
"""

from datetime import UTC, datetime
from pathlib import Path

from launch.errors import CannotStartError
from launch.setup.data_dir import RUN_FILE, write_atomically
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from session.session import Mode

LAYOUT = 4
"""Raised with each change of stored names or formats that this program does not read any more."""
LAYOUT_FILE = "layout"
SESSION_DATA = ("mongodb", "mongodb.key", "kafka", "checkpoints", "exchanges", "paper", "logins", RUN_FILE)
"""Files that sessions leave and continue from; keys, jars, tick sets, recordings and logs are read by any version."""


def database_name(mode: Mode, layout: int = LAYOUT) -> str:
    """Return the database of a session's mode; another layout has another, so that nobody misreads it on a shared
    server."""
    return f"arbitrage_{mode}_{layout}"


def stored_layout(home: Path) -> int | None:
    """Return the layout of the session data in `home`; None if there are none, or their layout was not written down."""
    marker = home / LAYOUT_FILE
    if not _session_data(home) or not marker.is_file():
        return None
    text = marker.read_text().strip()
    return int(text) if text.isdecimal() else None


def mark_layout(home: Path) -> None:
    """Write down that the session data are of this layout."""
    write_atomically(home / LAYOUT_FILE, f"{LAYOUT}\n".encode())


def set_aside_other_layout(home: Path) -> str | None:
    """Move session data of another layout into a folder of its own, and say where; None if there is none.

    The caller holds the lock of the data folder. Raises CannotStartError if it cannot be moved.
    """
    left = _session_data(home)
    try:
        target = None if not left or stored_layout(home) == LAYOUT else _moved(home, left)
        mark_layout(home)
    except OSError as error:
        raise CannotStartError(f"{home}: data of an earlier version cannot be set aside ({error.strerror}).") from error
    if target is None:
        return None
    return f"the sessions in {home} are of an earlier version; they were moved to {target}, and this one starts empty"


def _session_data(home: Path) -> list[Path]:
    return [home / name for name in SESSION_DATA if (home / name).exists()]


def _moved(home: Path, paths: list[Path]) -> Path:
    moment = datetime.fromtimestamp(wall_now() / MICROSECONDS, UTC)
    target = home / f"set-aside-{moment:%Y%m%d-%H%M%S}"
    target.mkdir(mode=0o700)
    for path in paths:
        path.rename(target / path.name)
    return target
