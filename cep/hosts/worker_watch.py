"""A watch over an app's processes from outside: it sees what no code within such a process can see any more."""

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from cep.hosts.event_watch import LOOK_SECONDS
from cep.hosts.worker_files import beaten_at, noted_workers
from cep.parts.app_limits import AppLimits

PATIENCE = 2.0
"""How often the CPU of one row a process may take without a beat: the watch within it comes first where it can,
and a beat comes at one of its looks at the earliest."""


@dataclass(slots=True)
class WorkerWatch:
    """`folder`: where the processes are noted."""

    folder: Path
    limits: AppLimits
    _beats: dict[int, tuple[int, float | None, float]] = field(default_factory=dict)
    """By partition: process, its last beat, its CPU when that was seen first."""

    def problem(self) -> str | None:
        """Why the app has to be ended; None where all of its processes go on."""
        for partition, process in noted_workers(self.folder).items():
            with suppress(psutil.NoSuchProcess):
                problem = self._of_process(partition, process)
                if problem is not None:
                    return f"the app was ended: the process of partition {partition} {problem}"
        return None

    def _of_process(self, partition: int, process: psutil.Process) -> str | None:
        if process.memory_info().rss > self.limits.worker_bytes:
            return f"took more than {self.limits.worker_bytes:,} bytes of memory (worker_bytes)"
        times, beaten = process.cpu_times(), beaten_at(self.folder, partition)
        used = times.user + times.system
        pid, before, since = self._beats.get(partition, (None, None, 0.0))
        if (pid, before) != (process.pid, beaten):
            self._beats[partition] = process.pid, beaten, used
            return None
        most = PATIENCE * max(self.limits.event_seconds, 2 * LOOK_SECONDS)
        if used - since > most:
            return f"took more than {most:g} s of CPU without a sign (event_seconds)"
        return None
