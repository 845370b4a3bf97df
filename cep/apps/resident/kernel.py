"""One app in a worker, on one partition of its log: its kernel, and how far it has come, on disk too."""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cep.apps.engine.key_log import KeyLog
from cep.apps.engine.snapshots import Segments, SnapshotError
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


@dataclass(frozen=True, slots=True)
class TakenSnapshot:
    """`until`: the next row when it was taken. `size`: of all that the app keeps, bytes. `first_segment`: of its
    keys."""

    data: bytes
    until: int
    size: int
    first_segment: int = 0


Observe = Callable[[HostedApp, StreamEngine], None]


class ResidentKernel:
    def __init__(self, placed: PlacedApp, partition: int, observe: Observe | None = None) -> None:
        """Goes on at its snapshot, if there is one that can be used. `observe`: of `HostedApp`. Raises
        AppFailedError."""
        self._source, self._partition, self._region = placed.source, partition, placed.region
        self._observe = observe
        self.position: Position = (placed.source.topic, partition)
        self._snapshots = SnapshotFolder(placed.folder)
        self._has_keys = bool(placed.source.app.processors)
        self._keys: KeyLog | None = None
        """Of an app with processors, once it has begun: what each key has is written apart."""
        self.app = self._resumed()
        self.next: int = placed.first[self.position] if self.app.position is None else self.app.position
        """Offset of the next row."""
        self._saved = self.next

    @property
    def is_saved(self) -> bool:
        return self._saved == self.next

    @property
    def key_count(self) -> int:
        """Of its processors."""
        return 0 if self._keys is None else self._keys.key_count

    def take(self, record: Record, row: Mapping[str, Any] | None, read: RowReading) -> list[AppRow]:
        """`row`: what is in the record; None if that cannot be read. `read`: of `HostedApp.take`. Rows from before
        its own next one, which are there for other apps, are left out. Raises AppFailedError."""
        if record.offset < self.next:
            return []
        if record.offset > self.next:
            log.warning("rows are gone from the log: begun without them", extra={"until": record.offset})
            self.app, self._keys = self._begun(), None
        self.next = record.offset + 1
        rows = [] if row is None else self.app.take(record.offset, record.time, row, read)
        if self._has_keys and (keys := self._key_log()) is not None:
            keys.write_changed()
        return rows

    def written_slices(self) -> Iterator[None]:
        """Write what each key has as far as the next snapshot needs it, in steps between which rows may be taken.
        Raises OSError."""
        keys = self._key_log()
        return iter(()) if keys is None or self.is_saved else keys.walk()

    def snapshot(self) -> TakenSnapshot:
        """Raise AppFailedError if it has kept too much; OSError."""
        keys = self._key_log()
        data = self.app.snapshot(keys)
        if keys is None:
            return TakenSnapshot(data, self.next, len(data))
        return TakenSnapshot(data, self.next, len(data) + keys.state_bytes, keys.first_segment)

    def keep(self, taken: TakenSnapshot) -> None:
        """Save it, and forget what only older ones need. Raises OSError."""
        if self.save(taken.data, taken.until) and self._has_keys:
            # one that was left out may be of the same row and name later segments than the one on disk
            self._snapshots.segments(self._partition).drop_before(taken.first_segment)

    def save(self, snapshot: bytes, until: int) -> bool:
        """`until`: the next row when it was taken; the app's rows up to there are acknowledged. One that is not newer
        than the last is left out; return whether it was saved. Raises OSError."""
        if until <= self._saved:
            # somebody else may have gone on behind that one already: who took over, or another process
            return False
        self._snapshots.save(self._partition, snapshot)
        self._saved = until
        return True

    def _resumed(self) -> HostedApp:
        app, data = self._begun(), self._snapshots.load(self._partition)
        if data is None:
            return app
        try:
            segments = app.restore(data, self._snapshots.segments(self._partition))
        except SnapshotError as error:
            log.warning("snapshot not used: the log is read again", extra={"reason": str(error)})
            return self._begun()
        # before any row: what it changes is to be noted
        self._keys = self._followed(app, segments)
        return app

    def _key_log(self) -> KeyLog | None:
        """None if no part of the app has keys, or it has had no row."""
        if self._keys is None:
            self._keys = self._followed(self.app, ())
        return self._keys

    def _followed(self, app: HostedApp, segments: Segments) -> KeyLog | None:
        if not self._has_keys or app.engine is None:
            return None
        return KeyLog(self._snapshots.segments(self._partition), app.engine.state, segments)

    def _begun(self) -> HostedApp:
        return HostedApp(self._source, self._partition, unrepeated_rows(self._region), self._observe)
