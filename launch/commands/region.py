"""`arbitrage region`: cuts, slows, loses packets on and heals the links between the regions of the running session,
sets a region's clock off, and kills its processes."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from launch.errors import CannotStartError, LaunchError
from launch.regions.clocks import clock_lines, clocks_off, in_milliseconds, set_clocks
from launch.regions.kill import killed_by
from launch.regions.network.carrier_state import state_lines
from launch.regions.network.control_socket import command_carrier
from launch.regions.network.link_commands import LinkCommandError, parsed_change
from launch.regions.sessions import region_home
from launch.setup.data_dir import REGIONS, RUN_FILE, read_session
from runtime.clock_shift import CLOCK_FILE


def run_region(home: Path, words: Sequence[str], as_json: bool, echo: Callable[[str], None]) -> int:
    """Print the state of the links after the command, or what was killed. Returns exit code 0. Raises LaunchError,
    CannotStartError."""
    line = " ".join(words)
    home, has_carrier = _session_of(home)
    killed = killed_by(home, line)
    if killed is not None:
        echo(json.dumps({"killed": sorted(killed)}) if as_json else f"killed: {', '.join(sorted(killed))}")
        return 0
    if not has_carrier:
        return _set_clocks_alone(home, line, as_json, echo)
    state = command_carrier(home, line)
    if as_json:
        echo(state.to_json().decode())
    else:
        for one in state_lines(state):
            echo(one)
    return 0


def _set_clocks_alone(home: Path, line: str, as_json: bool, echo: Callable[[str], None]) -> int:
    """Set clocks of a session whose links cannot be changed. Raises CannotStartError."""
    regions = read_session(home).place.regions
    try:
        change = parsed_change(line, regions)
    except LinkCommandError as error:
        raise CannotStartError(f"region {line!r}: {error}") from error
    if change.kind not in ("skew", "heal", "state"):
        raise CannotStartError("the links of this session cannot be changed, because it was started without --wan.")
    if not any((region_home(home, region) / CLOCK_FILE).exists() for region in regions):
        raise CannotStartError(f"{home}: no region's clock is set here, only where `arbitrage paper --regions` runs.")
    try:
        set_clocks(home, change.clocks, change.skew)
    except OSError as error:
        raise LaunchError(f"{home}: the clocks could not be set ({error.strerror}).") from error
    clocks = in_milliseconds(clocks_off(home, regions))
    if as_json:
        echo(json.dumps({"clocks_ms": clocks}))
    else:
        for one in clock_lines(clocks) if clocks else ("the clocks of all regions are right",):
            echo(one)
    return 0


def _session_of(home: Path) -> tuple[Path, bool]:
    """Return the data folder of the whole session, also if `home` is that of one of its regions, and whether its links
    can be changed. If no session runs, the next step reports it."""
    try:
        session = read_session(home)
    except CannotStartError:
        return home, True
    if session.place.regions and session.home.parent.name == REGIONS:
        # nothing is above regions on machines of their own
        whole = session.home.parents[1]
        home = whole if (whole / RUN_FILE).exists() else home
    return home, session.place.carrier_home is not None or not session.place.regions
