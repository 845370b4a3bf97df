"""One app in a worker, on one partition of its log: its kernel, and how far it has come, on disk too."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cep.apps.engine.snapshots import SnapshotError
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.app_messages import AppRow
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.hosts.log_rows import RowReading
from cep.snapshot_folder import SnapshotFolder
from streams.mirrored_rows import unrepeated_rows
from streams.records import Position, Record

log = logging.getLogger("cep")


@dataclass(frozen=True, slots=True)
class PlacedApp:
    """An app of a run. `folder`: its own, for snapshots. `first`: where its log begins for it, by position. `region`:
    that of the session, if it has any."""

    source: AppSource
    folder: Path
    first: Mapping[Position, int]
    region: str | None = None

    @property
    def description(self) -> str:
        """What runs where, as text."""
        places = ", ".join(f"{partition} from offset {offset}" for (_, partition), offset in self.first.items())
        log_of_app = "an input log of its own" if self.source.is_merged else self.source.topic
        return f"{self.source.name} (version {self.source.version}) runs on {log_of_app}, partition {places}"


Observe = Callable[[HostedApp, StreamEngine], None]


class ResidentKernel:
    def __init__(self, placed: PlacedApp, partition: int, observe: Observe | None = None) -> None:
        """Goes on at its snapshot, if there is one that can be used. `observe`: of `HostedApp`. Raises
        AppFailedError."""
        self._source, self._partition, self._region = placed.source, partition, placed.region
        self._observe = observe
        self.position: Position = (placed.source.topic, partition)
        self._snapshots = SnapshotFolder(placed.folder)
        self.app = self._resumed()
        self.next: int = placed.first[self.position] if self.app.position is None else self.app.position
        """Offset of the next row."""
        self._saved = self.next

    @property
    def is_saved(self) -> bool:
        return self._saved == self.next

    def take(self, record: Record, row: Mapping[str, Any] | None, read: RowReading) -> list[AppRow]:
        """`row`: what is in the record; None if that cannot be read. `read`: of `HostedApp.take`. Rows from before
        its own next one, which are there for other apps, are left out. Raises AppFailedError."""
        if record.offset < self.next:
            return []
        if record.offset > self.next:
            log.warning("rows are gone from the log: begun without them", extra={"until": record.offset})
            self.app = self._begun()
        self.next = record.offset + 1
        return [] if row is None else self.app.take(record.offset, record.time, row, read)

    def save(self, snapshot: bytes, until: int) -> None:
        """`until`: the next row when it was taken; the app's rows up to there are acknowledged. One that is not newer
        than the last is left out. Raises OSError."""
        if until <= self._saved:
            # somebody else may have gone on behind that one already: who took over, or another process
            return
        self._snapshots.save(self._partition, snapshot)
        self._saved = until

    def _resumed(self) -> HostedApp:
        app, data = self._begun(), self._snapshots.load(self._partition)
        if data is None:
            return app
        try:
            app.restore(data)
        except SnapshotError as error:
            log.warning("snapshot not used: the log is read again", extra={"reason": str(error)})
            return self._begun()
        return app

    def _begun(self) -> HostedApp:
        return HostedApp(self._source, self._partition, unrepeated_rows(self._region), self._observe)
