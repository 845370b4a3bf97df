"""How a session's data lie in the data folder and in MongoDB, by number; what another version wrote is set aside."""

from datetime import UTC, datetime
from pathlib import Path

from launch.errors import CannotStartError
from launch.setup.data_dir import RUN_FILE, write_atomically
from market.time_units import MICROSECONDS
from session.clock import wall_now
from session.session import Mode

LAYOUT = 4
"""Raised with each change of stored names or formats that this program does not read any more."""
LAYOUT_FILE = "layout"
SESSION_DATA = ("mongodb", "mongodb.key", "kafka", "checkpoints", "exchanges", "paper", "logins", RUN_FILE)
"""What sessions leave behind and go on with; keys, jars, tick sets, recordings and logs are read by any version."""


def database_name(mode: Mode) -> str:
    """The database of a session's mode; another layout has another, so that nobody misreads it on a shared server."""
    return f"arbitrage_{mode}_{LAYOUT}"


def set_aside_other_layout(home: Path) -> str | None:
    """Move session data of another layout into a folder of its own, and say where; None where there is none.

    The caller holds the lock of the data folder. Raises CannotStartError where it cannot be moved.
    """
    marker = home / LAYOUT_FILE
    left = [home / name for name in SESSION_DATA if (home / name).exists()]
    try:
        is_ours = not left or (marker.exists() and marker.read_text().strip() == str(LAYOUT))
        target = None if is_ours else _moved(home, left)
        write_atomically(marker, f"{LAYOUT}\n".encode())
    except OSError as error:
        raise CannotStartError(f"{home}: data of an earlier version cannot be set aside ({error.strerror}).") from error
    if target is None:
        return None
    return f"the sessions in {home} are of an earlier version; they were moved to {target}, and this one starts empty"


def _moved(home: Path, paths: list[Path]) -> Path:
    moment = datetime.fromtimestamp(wall_now() / MICROSECONDS, UTC)
    target = home / f"set-aside-{moment:%Y%m%d-%H%M%S}"
    target.mkdir(mode=0o700)
    for path in paths:
        path.rename(target / path.name)
    return target
