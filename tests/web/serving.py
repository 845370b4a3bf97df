"""A served dashboard with traffic behind it, each in a process of its own, and what they take."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.ui.serving import ROOT, Served

MEGABYTE = 1024**2
STOP_SECONDS = 20.0


@contextmanager
def traffic(dashboard: Served, quotes: float = 150.0, trades: float = 1.0) -> Iterator[None]:
    """So many a second while the block lasts; as many as the paper system makes, unless told."""
    home = str(dashboard.session.home)
    words = (sys.executable, "-m", "tests.web.traffic", home, "--quotes", str(quotes), "--trades", str(trades))
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n", "the traffic ended"
        yield
        assert process.poll() is None, "the traffic ended"
    finally:
        process.terminate()
        try:
            process.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def load(dashboard: Served, clients: int, requests: float, seconds: float) -> subprocess.Popen[str]:
    """Return a started generator, all its clients connected; `told` waits for what it says."""
    words = (sys.executable, "-m", "tests.web.load", dashboard.address)
    numbers = ("--clients", str(clients), "--requests", str(requests), "--seconds", str(seconds))
    process = subprocess.Popen((*words, *numbers), cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "connected\n", "the generator could not connect"
    return process


def reported(process: subprocess.Popen[str], seconds: float) -> dict[str, object]:
    said, _ = process.communicate(timeout=seconds)
    assert process.returncode == 0
    document: dict[str, object] = json.loads(said)
    return document


@dataclass(slots=True)
class Taken:
    """What a process took between two moments. Read by `psutil`."""

    process: psutil.Process
    begun_at: int = field(default_factory=wall_now)
    cpu_before: float = 0.0
    resident_before: int = 0

    def __post_init__(self) -> None:
        self.cpu_before, self.resident_before = self._cpu(), self.process.memory_info().rss

    @property
    def cores(self) -> float:
        """CPU seconds per second since the beginning."""
        return (self._cpu() - self.cpu_before) / ((wall_now() - self.begun_at) / MICROSECONDS)

    @property
    def grown_megabytes(self) -> float:
        return (self.process.memory_info().rss - self.resident_before) / MEGABYTE

    def _cpu(self) -> float:
        times = self.process.cpu_times()
        return times.user + times.system


def taken_by(dashboard: Served) -> Taken:
    return Taken(psutil.Process(dashboard.process.pid))


def report(name: str, figures: dict[str, object]) -> None:
    """One line for who reads the run: what was measured, beside the load of the machine."""
    line = {"measured": name, **figures, "load": [round(one, 1) for one in psutil.getloadavg()]}
    sys.stdout.write(f"\n{json.dumps(line)}\n")
