"""The processes that a supervisor has written down, for whoever must end them without it."""

import json
import signal
from pathlib import Path

import psutil

from launch.supervisor.process_groups import STOP_SECONDS, group_members, signal_group

PROCESSES_FILE = "processes.json"


def kill_recorded(home: Path) -> dict[str, int]:
    """Kill with -9 all processes recorded in this data folder. Returns name → process group of those that
    lived.

    Process ids are checked by their start times. Returns once they are gone, within five seconds.
    """
    try:
        recorded: dict[str, tuple[int, float]] = json.loads((home / PROCESSES_FILE).read_text())
    except (FileNotFoundError, ValueError):
        return {}
    living = {name: (group, group_members(group)) for name, (group, _) in recorded.items()}
    own = {
        name: (group, members)
        for name, (group, members) in living.items()
        if any(_started(process) >= recorded[name][1] for process in members)
    }
    # all of them before any wait: a part that lives on would act on what the others left
    for group, _ in own.values():
        signal_group(group, signal.SIGKILL)
    psutil.wait_procs([process for _, members in own.values() for process in members], timeout=STOP_SECONDS)
    return {name: group for name, (group, _) in own.items()}


def _started(process: psutil.Process) -> float:
    """Return seconds since 1970; 0 if it has gone meanwhile."""
    try:
        return process.create_time()
    except psutil.NoSuchProcess:
        return 0.0
