"""Processes that a benchmark starts, and their CPU time."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil


@contextmanager
def running(*command: str, log: Path | None = None) -> Iterator[psutil.Process]:
    """Run the command until the block ends; its standard error goes to `log` if that is given."""
    with ExitStack() as stack:
        errors = None if log is None else stack.enter_context(log.open("wb"))
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors))
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()


def cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def used_by(parts: Mapping[str, list[psutil.Process]]) -> dict[str, float]:
    """Return the CPU seconds of each part so far."""
    return {name: sum(map(cpu_seconds, processes)) for name, processes in parts.items()}
