"""Processes that a benchmark starts, and what they take of a core."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psutil


@contextmanager
def running(*command: str) -> Iterator[psutil.Process]:
    """Until the block ends."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()


def cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
