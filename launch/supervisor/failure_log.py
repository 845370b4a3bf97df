"""Explains why a process is not ready or ended: the end of its log, and the load of the machine."""

import json
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import psutil

from market.time_units import MICROSECONDS

BUSY_LOAD = 1.5
"""Load per core from which on waiting for a core explains a slow start."""
READ_BYTES = 65_536
"""A line with a trace is long."""
MAX_CHARACTERS = 200


def last_log_lines(logs: Path, names: Iterable[str], since: int) -> str:
    """Return one clause per process, and one for the machine if it is busy. `since`, microseconds: older log lines
    belong to another session."""
    clauses = [_last_line(logs / f"{name}.log", name, since) for name in names]
    return "; ".join([*clauses, *busy_machine(os.getloadavg()[0], psutil.cpu_count() or 1)])


def end_reason(code: int, log: Path, since: int) -> str:
    """Return why a process ended, by its exit code as the system reports it: negative if a signal killed it, which is
    all there is to say then; else with the last line of its log."""
    if code < 0:
        by_whom = " (by hand, or by a system out of memory)" if -code == signal.SIGKILL else ""
        return f"killed by {_name_of(-code)}{by_whom}"
    last = _last_event(log, since)
    return f"exit code {code}" if last is None else f"exit code {code}; last logged: {last}"


def _name_of(number: int) -> str:
    """Return a signal's name; real-time signals have none but the first and the last."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def busy_machine(load: float, cores: int) -> tuple[str, ...]:
    """Return a clause with the load if the machine is busy, else empty. `load`: the mean of the last minute."""
    if load <= BUSY_LOAD * cores:
        return ()
    return (f"the machine is busy (load {load:.0f} on {cores} cores)",)


def _last_line(log: Path, name: str, since: int) -> str:
    last = _last_event(log, since)
    return f"{name} has logged nothing yet" if last is None else f"{name} last logged: {last}"


def _last_event(log: Path, since: int) -> str | None:
    try:
        if log.stat().st_mtime * MICROSECONDS < since:
            return None
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - READ_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return None
    line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return _event_of(line)[:MAX_CHARACTERS] or None


def _event_of(line: str) -> str:
    """Return the event of a log line. Our own lines are JSON; those of a JVM are not."""
    try:
        event = json.loads(line)
    except ValueError:
        return line
    if not isinstance(event, dict) or "event" not in event:
        return line
    return f"{event['event']} ({event['error']})" if "error" in event else str(event["event"])
