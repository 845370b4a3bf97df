"""A watch over the processes of a run from outside: it sees what no code within such a process can see any more, and
which of its apps is to blame."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from cep.apps.compiler.limit_annotation import app_limits
from cep.apps.engine.question_meter import QUESTION_LIMITS
from cep.apps.hosts.event_watch import LOOK_SECONDS
from cep.apps.resident.ended_apps import noted_end
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.worker_files import noted_workers
from cep.apps.resident.worker_progress import WorkerProgress, worker_progress
from cep.snapshot_folder import SnapshotFolder

PATIENCE = 2.0
"""How often the CPU that one row may take a process may take for it: the watch within it comes first if it can."""
_QUESTION_SECONDS = PATIENCE * max(QUESTION_LIMITS.seconds, 2 * LOOK_SECONDS)
"""The same of an on-demand query."""


@dataclass(frozen=True, slots=True)
class BadWorker:
    """A process that has to be killed, and the app of it that is not begun again; None if an on-demand query is to
    blame: all of its apps go on without it. `problem`: one sentence."""

    process: psutil.Process
    app: PlacedApp | None
    problem: str


@dataclass(frozen=True, slots=True)
class _Look:
    pid: int
    progress: WorkerProgress | None
    cpu: float
    """When this progress was seen first, seconds."""
    is_large: bool


@dataclass(slots=True)
class WorkerWatch:
    """`folder`: where the processes are noted. `apps`: by place; they may come and go."""

    folder: Path
    apps: Mapping[int, PlacedApp]
    _looks: dict[int, _Look] = field(default_factory=dict)
    """The one before, by partition."""

    def bad_workers(self) -> Iterator[BadWorker]:
        """To be called once a second."""
        if not self.apps:
            return
        for partition, process in noted_workers(self.folder).items():
            with suppress(psutil.NoSuchProcess):
                yield from self._of_process(partition, process)

    def _of_process(self, partition: int, process: psutil.Process) -> Iterator[BadWorker]:
        times, progress = process.cpu_times(), worker_progress(self.folder, partition)
        used, most_bytes = times.user + times.system, self._most_bytes
        before, is_large = self._looks.get(partition), process.memory_info().rss > most_bytes
        is_stuck = before is not None and (before.pid, before.progress) == (process.pid, progress)
        since = before.cpu if before is not None and is_stuck else used
        self._looks[partition] = _Look(process.pid, progress, since, is_large)
        place = f"the app was ended: the process of partition {partition} took more than"
        busy = None if progress is None or progress.app is None or not is_stuck else self.apps.get(progress.app)
        if progress is not None and busy is not None and progress.is_question:
            if used - since > _QUESTION_SECONDS or (is_large and before is not None and before.is_large):
                yield BadWorker(process, None, f"an on-demand query took the process of partition {partition}")
        elif busy is not None and used - since > (most := _most_seconds(busy)):
            yield BadWorker(process, busy, f"{place} {most:g} s of CPU without a sign (event_seconds)")
        elif is_large and before is not None and before.is_large and before.pid == process.pid:
            problem = f"{place} {most_bytes:,} bytes of memory (worker_bytes)"
            if busy is not None:
                yield BadWorker(process, busy, problem)
            elif (largest := self._largest(partition)) is not None:
                others = "" if len(self.apps) == 1 else ", and of its apps this one keeps most"
                yield BadWorker(process, largest, problem + others)

    @property
    def _most_bytes(self) -> int:
        return max(app.source.terms.limits.worker_bytes for app in self.apps.values())

    def _largest(self, partition: int) -> PlacedApp | None:
        """By what its last snapshot and its segments of keys take on disk."""
        running = [app for app in self.apps.values() if noted_end(app.folder) is None]
        return max(running, key=lambda app: SnapshotFolder(app.folder).size(partition), default=None)


def _most_seconds(app: PlacedApp) -> float:
    limits = app_limits(app.source.app, app.source.terms.limits)
    return PATIENCE * max(limits.event_seconds, 2 * LOOK_SECONDS)
