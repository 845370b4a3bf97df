"""One partition's run of an app whose state lies key by key somewhere else: a key is fetched with its first row.

It is the kernel of all hosts, and gives their rows with their ids: an app whose queries keep nothing but by key, and do
nothing but with rows (`cep.apps.engine.host_choice`), cannot tell whether its other keys are at hand.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from cep.apps.engine.key_log import KeyFiles, KeyLog
from cep.apps.engine.snapshots import Segments, Snapshot, SnapshotError, read, written
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.errors import AppFailedError
from cep.apps.hosts.app_messages import AppRow
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.hosts.log_rows import RowReading
from streams.mirrored_rows import UnrepeatedRows


class KeyStates(Protocol):
    """Where a partition of the log has its state: that of the log itself, and that of each key of each partition of the
    app (by its place in the text)."""

    def log(self) -> bytes | None: ...

    def keep_log(self, state: bytes) -> None: ...

    def key(self, block: int, key: str) -> bytes | None: ...

    def keep_key(self, block: int, key: str, state: bytes) -> None: ...

    def clear(self) -> None:
        """Nothing is kept any more."""
        ...


class KeyedApp(HostedApp):
    """For some rows of the log, after which `keep` is called."""

    def __init__(
        self, source: AppSource, partition: int, states: KeyStates, unrepeated: UnrepeatedRows | None = None
    ) -> None:
        """Raise SnapshotError if the states are not of this app and version, AppFailedError."""
        super().__init__(source, partition, unrepeated)
        self._states = states
        data = states.log()
        if data is not None:
            self.restore(data)

    def take(
        self, offset: int, written_at: int, row: Mapping[str, Any], read: RowReading | None = None
    ) -> list[AppRow]:
        """Raise AppFailedError, also if what was kept of a key cannot be read."""
        try:
            return super().take(offset, written_at, row, read)
        except SnapshotError as error:
            raise AppFailedError(f"row {offset} of partition {self._partition} cannot be computed: {error}") from error

    def keep(self) -> None:
        """All that has changed goes to the states. Raises AppFailedError if a key has too much."""
        for block, key, state in () if self._engine is None else self._engine.state.by_key():
            data = written(Snapshot(self._source.digest, {}, state))
            if len(data) > self.limits.state_bytes:
                most = f"{self.limits.state_bytes:,} bytes"
                problem = f"the key {key!r} of partition {self._partition} keeps more than {most} (state.bytes)"
                raise AppFailedError(
                    f"{problem} at row {self.position}: a window or pattern of the app grows without end"
                )
            self._states.keep_key(block, key, data)
        self._states.keep_log(self.snapshot())

    def _begun(self, now: int) -> StreamEngine:
        engine = super()._begun(now)
        engine.state.keep_keys(self._key)
        return engine

    def _key(self, block: int, key: str) -> object | None:
        data = self._states.key(block, key)
        return None if data is None else read(data, self._source.digest).state

    def _state_of(self, engine: StreamEngine, keys: KeyLog | None) -> object:
        """Return the clock: all else is by key."""
        return engine.now

    def _restore_engine(self, state: Any, files: KeyFiles | None) -> Segments:
        self._begun(int(state))
        return ()
