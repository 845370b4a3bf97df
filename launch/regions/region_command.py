"""`arbitrage region`: cuts, slows, loses on and heals the links between the regions of the running session, and kills
a region's processes."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from launch.regions.carrier_state import state_lines
from launch.regions.control_socket import command_carrier
from launch.regions.region_kill import killed_by


def run_region(home: Path, words: Sequence[str], as_json: bool, echo: Callable[[str], None]) -> int:
    """Print the state of the links after the command, or what was killed; exit code 0. Raises LaunchError,
    CannotStartError."""
    line = " ".join(words)
    killed = killed_by(home, line)
    if killed is not None:
        echo(json.dumps({"killed": sorted(killed)}) if as_json else f"killed: {', '.join(sorted(killed))}")
        return 0
    state = command_carrier(home, line)
    if as_json:
        echo(state.to_json().decode())
    else:
        for one in state_lines(state):
            echo(one)
    return 0
