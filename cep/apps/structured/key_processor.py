"""What `transformWithState` does with the rows that a micro-batch has of one partition of an app's log.

Spark's key is the partition of the log, since the app's clock and the ids of its rows follow from the order of that; a
map below it has the state of each key of the app. So a batch loads and writes the keys that have rows in it, once each,
and no others.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessor, StatefulProcessorHandle, ValueState

from cep.apps.engine.snapshots import SnapshotError
from cep.apps.errors import AppFailedError
from cep.apps.hosts.app_messages import AppRow, app_message
from cep.apps.hosts.event_watch import EventWatch, watched
from cep.apps.parts.app_limits import AppLimitError
from cep.apps.resident.ended_apps import note_end
from cep.apps.resident.kernel import PlacedApp
from cep.apps.structured.keyed_app import KeyedApp, KeyStates
from cep.run_log import reported_to
from streams.message_format import WireError, row_of
from streams.mirrored_rows import unrepeated_rows

log = logging.getLogger("cep")

INPUT_COLUMNS = "partition int, offset long, written_at long, value binary"
OUTPUT_COLUMNS = "key string, value binary, partition int"
"""As Spark's Kafka sink takes them."""


@dataclass(frozen=True, slots=True)
class SparkStates:
    """`KeyStates` in Spark's, of the partition whose rows are handled now."""

    of_log: ValueState
    of_keys: MapState

    def log(self) -> bytes | None:
        found = self.of_log.get()
        return None if found is None else bytes(found[0])

    def keep_log(self, state: bytes) -> None:
        self.of_log.update((state,))

    def key(self, block: int, key: str) -> bytes | None:
        found = self.of_keys.getValue((block, key))
        return None if found is None else bytes(found[0])

    def keep_key(self, block: int, key: str, state: bytes) -> None:
        self.of_keys.updateValue((block, key), (state,))

    def clear(self) -> None:
        self.of_log.clear()
        self.of_keys.clear()


class KeyProcessor(StatefulProcessor):
    """One for each task; Spark calls `init` before all else."""

    _states: SparkStates
    _end: ValueState

    def __init__(self, placed: PlacedApp, log_pipe: Path | None = None) -> None:
        """`log_pipe`: of `cep.run_log`."""
        self._placed, self._log_pipe = placed, log_pipe

    def init(self, handle: StatefulProcessorHandle) -> None:
        of_log = handle.getValueState("log", "state binary")
        self._states = SparkStates(of_log, handle.getMapState("keys", "block int, key string", "state binary"))
        self._end = handle.getValueState("end", "sentence string")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803  # Spark's names
        ended = self._end.get()
        if ended is not None:
            # once it has ended it stays so, whatever Spark's offsets say
            note_end(self._placed.folder, ended[0])
            return
        batch = _Batch(self._placed, int(key[0]), self._states)
        with reported_to(self._log_pipe):
            yield from batch.messages(sorted(rows, key=lambda row: int(row["offset"])))
        if batch.problem is not None:
            note_end(self._placed.folder, batch.problem)
            self._end.update((batch.problem,))

    def close(self) -> None:
        """Nothing is open."""


class _Batch:
    """`problem`: why the app has ended; None if it goes on."""

    def __init__(self, placed: PlacedApp, partition: int, states: KeyStates) -> None:
        self._placed, self._partition, self._states = placed, partition, states
        self._app: KeyedApp | None = None
        self.problem: str | None = None

    def messages(self, rows: list[Row]) -> Iterator[Row]:
        """`rows`: by offset. What came before a row that cannot be computed is given."""
        label = self._placed.source.label
        try:
            with watched(EventWatch(lambda: self._app)):
                for row in rows:
                    for out in self._taken(row):
                        yield Row(key=label, value=app_message(out), partition=self._partition)
                if self._app is not None:
                    self._app.keep()
        except (AppFailedError, AppLimitError) as error:
            self.problem = str(error)

    def _taken(self, row: Row) -> list[AppRow]:
        offset = int(row["offset"])
        app = self._app = self._app or self._begun()
        if app.position is not None and offset > app.position:
            log.warning("rows are gone from the log: begun without them", extra={"until": offset})
            self._states.clear()
            app = self._app = self._begun()
        try:
            values = row_of(bytes(row["value"]))
        except WireError:
            app.position = offset + 1
            return []
        return app.take(offset, int(row["written_at"]), values)

    def _begun(self) -> KeyedApp:
        placed = self._placed
        try:
            return KeyedApp(placed.source, self._partition, self._states, unrepeated_rows(placed.region))
        except SnapshotError as error:
            raise AppFailedError(f"Spark's checkpoint in {placed.folder} cannot be used: {error}") from error
