"""CPU and memory that each part of a session takes in a minute."""

from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from benchmarks.live_path import Parts
from runtime.clock import SystemClock

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class PartMinute:
    """One minute; memory at its end in megabytes: `pss_mb` has the part's share of shared pages, `rss_mb` all of
    them."""

    cores: float
    pss_mb: float
    rss_mb: float

    def row(self) -> dict[str, float]:
        return {name: round(value, 4) for name, value in asdict(self).items()}


async def part_minute(home: Path, supervisor: psutil.Process, seconds: float = MINUTE) -> dict[str, PartMinute]:
    """Measure from now on; parts that began meanwhile count from their beginning."""
    parts = Parts(home, supervisor)
    await SystemClock().sleep(seconds)
    used, resident = parts.used(), dict[str, float]()
    for name, process in parts.running():
        with suppress(psutil.NoSuchProcess):
            resident[name] = process.memory_info().rss / 1e6
    return {name: PartMinute(*both, resident[name]) for name, both in used.items() if name in resident}
