"""Measures one engine in processes of its own: wall time, CPU time and memory of each pass."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from benchmarks.backtests.definition import Found
from market.time_units import MICROSECONDS
from runtime.clock import wall_now

SAMPLE_SECONDS = 0.25
MOST_BYTES = 16 * 1024**3
"""Memory limit of one engine; one that takes more is stopped."""
ROOT = Path(__file__).parents[2]


class EngineError(Exception):
    """An engine ended before it had answered; its last words are the message."""


class TooMuchMemoryError(EngineError):
    """It took more than MOST_BYTES; fewer rows may fit."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass. The first of a process begins with its start: interpreter, imports and all."""

    found: Found
    wall: float
    """Seconds."""
    cpu: float
    """Seconds of all its processes together."""
    peak: int
    """Peak of their memory together, in bytes: proportional set sizes, so that shared pages count once."""
    load: float
    """Load average of the last minute before the pass."""


def measured(command: Sequence[str], passes: int, environment: dict[str, str], log: Path) -> list[Pass]:
    """Measure `passes` in one process. Raises EngineError, TooMuchMemoryError."""
    load, begun = os.getloadavg()[0], wall_now()
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=ROOT,
            env={**os.environ, **environment},
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        tree, done, cpu_before = psutil.Process(process.pid), list[Pass](), 0.0
        for number in range(passes):
            if number:
                load, begun = os.getloadavg()[0], wall_now()
                process.stdin.write("again\n")
                process.stdin.flush()
            with _peak(tree) as peak:
                line = _answer(process.stdout)
            if line is None:
                raise _failure(peak, log)
            found = Found(**json.loads(line))
            wall, cpu = (wall_now() - begun) / MICROSECONDS, cpu_seconds(tree)
            done.append(Pass(found, wall, cpu - cpu_before, peak.bytes, load))
            cpu_before = cpu
        process.stdin.close()
    return done


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and all below it, also of those that have ended and were waited for."""
    total = 0.0
    for member in _members(process):
        try:
            times = member.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


class _Peak:
    """The most bytes seen at one time."""

    def __init__(self) -> None:
        self.bytes = 0

    def look(self, process: psutil.Process) -> None:
        members = _members(process)
        self.bytes = max(self.bytes, sum(_memory(member) for member in members))
        if self.bytes > MOST_BYTES:
            for member in members:
                with suppress(psutil.NoSuchProcess):
                    member.kill()


@contextmanager
def _peak(process: psutil.Process) -> Iterator[_Peak]:
    """Follow the memory from a thread at intervals until the block ends, and once more then."""
    peak, ended = _Peak(), threading.Event()

    def follow() -> None:
        while not ended.wait(SAMPLE_SECONDS):
            peak.look(process)

    follower = threading.Thread(target=follow)
    follower.start()
    try:
        yield peak
    finally:
        peak.look(process)
        ended.set()
        follower.join()


def _members(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def _answer(output: IO[str]) -> str | None:
    """Return the next line that is an answer; engines print other things, too. None: it ended."""
    return next((line for line in output if line.startswith("{")), None)


def _failure(peak: "_Peak", log: Path) -> EngineError:
    if peak.bytes > MOST_BYTES:
        return TooMuchMemoryError(f"took more than {MOST_BYTES // 1024**3} GB")
    words = log.read_text().strip().splitlines()
    return EngineError(words[-1] if words else "ended no message")
