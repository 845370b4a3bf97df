"""`arbitrage region`: cuts, slows, loses on and heals the links between the regions of the running session."""

from collections.abc import Callable, Sequence
from pathlib import Path

from launch.regions.carrier_state import state_lines
from launch.regions.control_socket import command_carrier


def run_region(home: Path, words: Sequence[str], as_json: bool, echo: Callable[[str], None]) -> int:
    """Print the state after the command; exit code 0. Raises LaunchError, CannotStartError."""
    state = command_carrier(home, " ".join(words))
    if as_json:
        echo(state.to_json().decode())
    else:
        for line in state_lines(state):
            echo(line)
    return 0
