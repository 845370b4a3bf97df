"""What a Spark task does that stays: one partition of each topic in, the rows of all apps of a run out to the topic
`apps` (`cep.apps.resident.worker`)."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.worker import AppWorker
from cep.apps.resident.worker_files import noted_worker
from cep.apps.resident.worker_progress import ProgressNotes, progress_notes
from cep.run_log import reported_to


@dataclass(frozen=True, slots=True)
class ResidentTask:
    """The same for every partition of a run. An app's place is its number in `apps`."""

    apps: tuple[PlacedApp, ...]
    kafka: str
    log_pipe: Path | None = None
    """The log pipe of `cep.run_log`."""

    @property
    def folder(self) -> Path:
        """Where its processes are noted: the first app's, since no other run has that app."""
        return self.apps[0].folder

    @property
    def partitions(self) -> list[int]:
        return sorted({partition for app in self.apps for _, partition in app.first})

    def run(self, partitions: Iterable[int]) -> Iterator[None]:
        """For `mapPartitions`: stays until this process gets SIGTERM, or no app is left. Gives nothing: why an app
        ended is noted in its folder."""
        for partition in partitions:
            with progress_notes(self.folder, partition) as notes, reported_to(self.log_pipe):
                asyncio.run(self._stay(partition, notes))
        yield from ()

    async def _stay(self, partition: int, notes: ProgressNotes) -> None:
        with noted_worker(self.folder, partition):
            await AppWorker(self.kafka, partition, notes, dict(enumerate(self.apps))).stay()
