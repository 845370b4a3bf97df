"""Rows of Kafka on their way into a recording's files: how long they wait, and how much recordings may take."""

import asyncio
from pathlib import Path

from market.time_units import MICROSECONDS
from pricefeeds.recording.feed_recorder import MEGABYTE, recorded_bytes
from runtime.clock import steady_now
from streams.records import Record
from tick_sets.sets.log_parts import LogParts

FLUSH_SECONDS = 10.0
"""After a kill, rows that were not written yet are read again."""
MAX_ROWS, MAX_BYTES = 20_000, 16 * MEGABYTE
"""Rows in memory, of all topics together."""


class PendingRows:
    """`root`: of all recordings; they may take `recordings_mb` together, or None: as much as there is."""

    def __init__(self, parts: LogParts, root: Path, recordings_mb: int | None) -> None:
        self._parts, self._root, self._most_mb = parts, root, recordings_mb
        self._rows: dict[str, list[Record]] = {}
        self._count = self._size = self._due = 0
        self.start()

    def start(self) -> None:
        """Rows wait from now on."""
        self._due = steady_now() + int(FLUSH_SECONDS * MICROSECONDS)

    def add(self, record: Record) -> None:
        self._rows.setdefault(record.topic, []).append(record)
        self._count += 1
        self._size += len(record.value)

    @property
    def is_empty(self) -> bool:
        return self._count == 0

    @property
    def is_due(self) -> bool:
        return self._count >= MAX_ROWS or self._size >= MAX_BYTES or steady_now() >= self._due

    @property
    def limit_reached(self) -> str | None:
        """Why nothing more may be written; None if there is room. Looks at all files."""
        if self._most_mb is None or recorded_bytes(self._root) < self._most_mb * MEGABYTE:
            return None
        return f"all recordings together reached recordings_mb = {self._most_mb}"

    async def write(self) -> None:
        """All of them, a file for each topic. Raises OSError. What is broken off writes no row twice: the thread that
        writes goes on, and its rows no longer wait."""
        self.start()
        rows, self._rows = self._rows, {}
        self._count = self._size = 0
        for topic, records in rows.items():
            await asyncio.to_thread(self._parts.write, topic, records)
