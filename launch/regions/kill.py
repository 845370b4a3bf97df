"""`arbitrage region kill us`: kill -9 of every process of a region; its supervisor starts them again."""

from collections.abc import Mapping
from pathlib import Path

from launch.errors import CannotStartError
from launch.regions.network.link_commands import LinkCommandError, is_kill, parsed_kill
from launch.regions.sessions import region_home
from launch.setup.data_dir import REGIONS
from launch.supervisor.recorded_processes import PROCESSES_FILE, kill_recorded


def running_regions(home: Path) -> tuple[str, ...]:
    """Return the regions whose processes are recorded in the data folder `home`."""
    return tuple(sorted(found.parent.name for found in (home / REGIONS).glob(f"*/{PROCESSES_FILE}")))


def killed_by(home: Path, line: str) -> Mapping[str, int] | None:
    """Return what the command in `line` killed, name → process group; None if it is no `kill`. Raises CannotStartError
    if no session with regions runs, or for a mistake in the command."""
    if not is_kill(line):
        return None
    regions = running_regions(home)
    if not regions:
        raise CannotStartError(f"{home}: no session with regions runs here, so there is nothing to kill.")
    try:
        own = region_home(home, parsed_kill(line, regions))
    except LinkCommandError as error:
        raise CannotStartError(f"region {line!r}: {error}") from error
    killed = kill_recorded(own)
    if not killed:
        raise CannotStartError(f"{own}: none of its processes is running; start the session with regions first.")
    return killed
