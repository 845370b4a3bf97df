"""Offsets and lag of the streams' producers and consumers, of bounded size; no I/O."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streams.message_format import WireError
from streams.query_progress import QueryProgress, progress_of
from streams.records import Position, Record

WAITING_PROBES = 300
"""Probes of one partition that are kept: ten minutes of them."""


@dataclass(slots=True)
class DetectionLag:
    """Real-time query's progress on one partition of the log. Microseconds."""

    next_offset: int | None = None
    """The offset after the row of the newest output."""
    came_out_at: int | None = None
    """When Spark wrote that output."""
    probe_delay: int | None = None
    """Delay of the newest probe from its write to its output."""
    waiting: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=WAITING_PROBES))
    """Waiting probes: offset and time of writing."""

    def oldest_wait(self, now: int) -> int:
        """Return the age of the oldest waiting probe; 0 if none is waiting."""
        return max(0, now - self.waiting[0][1]) if self.waiting else 0


@dataclass(slots=True)
class SettingsRow:
    """The newest settings row of one partition of the log."""

    version: int
    written_at: int


class StreamLag:
    """Updated with each row that the hub reads."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self.next_offsets: dict[Position, int] = {}
        """The next offsets of this process."""
        self.detection: dict[int, DetectionLag] = {}
        self.settings: dict[int, SettingsRow] = {}
        self.queries: dict[str, QueryProgress] = {}

    def record_position(self, record: Record) -> None:
        self.next_offsets[record.position] = record.offset + 1

    def record_tick(self, record: Record, row: Mapping[str, Any]) -> None:
        """Record a row of `ticks`; quotes are ignored. Raises WireError."""
        kind = row.get("kind")
        if kind == "probe":
            self._of(record.partition).waiting.append((record.offset, record.time))
        elif kind == "settings":
            self.settings[record.partition] = SettingsRow(_number(row, "settings_version"), record.time)

    def record_output(self, record: Record, row: Mapping[str, Any]) -> None:
        """Record a row of `opportunities`: all rows before it in the log have been processed. Raises WireError."""
        detection, offset = self._of(record.partition), _number(row, "offset")
        if detection.came_out_at is None or record.time >= detection.came_out_at:
            detection.came_out_at = record.time
        detection.next_offset = max(detection.next_offset or 0, offset + 1)
        while detection.waiting and detection.waiting[0][0] <= offset:
            written_offset, written_at = detection.waiting.popleft()
            if written_offset == offset:
                detection.probe_delay = max(0, record.time - written_at)

    def record_health(self, record: Record) -> None:
        """Record a health row. Raises WireError."""
        progress = progress_of(record.value)
        if progress is not None and progress.session_id == self._session_id:
            self.queries[progress.query] = progress

    def _of(self, partition: int) -> DetectionLag:
        return self.detection.setdefault(partition, DetectionLag())


def _number(row: Mapping[str, Any], name: str) -> int:
    value = row.get(name)
    if not isinstance(value, int):
        raise WireError(f"{name} of a row is no whole number: {value!r}")
    return value
