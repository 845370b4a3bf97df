"""Records the log and what CEP derived from it, so that a session can be verified from its folder alone."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Protocol

from market.time_units import MICROSECONDS
from pricefeeds.feed.startup_retry import retry_until_available
from pricefeeds.recording.feed_recorder import recordings_folder
from pricefeeds.recording.pending_rows import PendingRows
from runtime.clock import wall_now
from session.session import Session
from streams.last_sequences import newest_settings_rows
from streams.message_format import WireError, row_of
from streams.records import Record
from streams.topic_admin import partitions_of
from streams.topic_reader import TopicReader
from streams.topics import CYCLE_OPPORTUNITIES, OPPORTUNITIES, TICKS
from tick_sets.sets.log_parts import LogParts

POLL_SECONDS = 1.0
MARGIN = 300 * MICROSECONDS
"""Reading starts this much before the recorder's own start minus the maximum quote age: CEP may have started that
much earlier."""
AGE_UNKNOWN = 2_000_000
STARTED, ENDED, STOPPED = "begun.json", "ended.json", "stopped.json"

log = logging.getLogger("pricefeeds")


def recorded_topics(session: Session) -> tuple[str, ...]:
    """Return the log, and the topics that it can be compared with by what CEP makes of it."""
    cycles = () if session.cycles is None else (CYCLE_OPPORTUNITIES,)
    return (TICKS, OPPORTUNITIES, *cycles)


def log_folder(home: Path, session_id: str) -> Path:
    """Folder of a session's recorded log, beside the recorded frames of its feeds."""
    return recordings_folder(home) / session_id / "log"


async def run_log_recorder(session: Session, ready: Callable[[], None]) -> None:
    """Record until cancelled; nothing more once CEP has passed on the session's `end` markers.

    Raises StreamError if Kafka is unavailable: the process ends with it and is restarted. A full disk, or the limit
    on all recordings, ends the recording with one log message.
    """
    parts = LogParts(log_folder(session.home, session.session_id) / "raw")
    recorder = LogRecorder(session, parts)
    since = await recorder.begin()
    if not recorder.is_over:
        reader = TopicReader(session.services.kafka, recorded_topics(session), since, POLL_SECONDS)
        await retry_until_available(reader.open)
        try:
            ready()
            await recorder.follow(reader)
        finally:
            await reader.close()
    else:
        ready()
    # a process that ended by itself would look like a crash
    await asyncio.Event().wait()


class Batches(Protocol):
    """The part of `streams.topic_reader.TopicReader` that is used here."""

    def batches(self) -> AsyncIterator[list[Record]]: ...


class LogRecorder:
    """Buffers rows in memory until there are enough for a file."""

    def __init__(self, session: Session, parts: LogParts) -> None:
        self._session = session
        self._parts = parts
        self._pending = PendingRows(parts, recordings_folder(session.home), session.upkeep.recordings_mb)
        self._offsets: dict[tuple[str, int], int] = {}
        self._ends: dict[str, dict[str, int]] = {topic: {} for topic in recorded_topics(session)}
        """Topic → base → offset of its `end` marker."""

    @property
    def is_over(self) -> bool:
        return any((self._parts.folder / name).exists() for name in (ENDED, STOPPED))

    async def begin(self) -> int:
        """Resume where a previous process was killed. Returns the time to read from, in microseconds."""
        since = await self._start_time()
        last = {at: row for topic in self._ends for at, row in self._parts.last_positions(topic).items()}
        self._offsets = {position: offset for position, (offset, _) in last.items()}
        for topic in self._ends:
            for _, offset, _, value in self._parts.rows(topic):
                self._find_end(topic, offset, value)
        partitions = (partitions_of(topic, self._session.services.partitions) for topic in self._ends)
        is_known = len(last) == sum(partitions)
        return min(time for _, time in last.values()) if is_known else since

    async def follow(self, reader: Batches) -> None:
        """Record until the session or the recording ends."""
        self._pending.start()
        batches = reader.batches()
        while not self.is_over:
            for record in await anext(batches):
                self._take(record)
            if self._has_ended() or self._pending.is_due:
                await self._flush()
            if self._has_ended() and not self.is_over:
                self._write_document(ENDED, {topic: dict(sorted(ends.items())) for topic, ends in self._ends.items()})

    async def _start_time(self) -> int:
        """Return the start time that the session's first process chose."""
        path = self._parts.folder / STARTED
        if path.exists():
            return int(json.loads(path.read_text())["since"])
        rows = await retry_until_available(lambda: newest_settings_rows(self._session.services.kafka))
        ages = [int(row_of(record.value)["max_quote_age"]) for record in rows]
        since = wall_now() - max(ages, default=AGE_UNKNOWN) - MARGIN
        self._write_document(STARTED, {"since": since})
        return since

    def _take(self, record: Record) -> None:
        if record.offset <= self._offsets.get(record.position, -1):
            return
        self._offsets[record.position] = record.offset
        self._pending.add(record)
        self._find_end(record.topic, record.offset, record.value)

    def _find_end(self, topic: str, offset: int, value: bytes) -> None:
        if b'"end"' not in value or self._session.session_id.encode() not in value:
            return
        try:
            row = row_of(value)
        except WireError:
            return
        if row.get("kind") == "end" and row.get("marker_id") == self._session.session_id:
            self._ends[topic].setdefault(str(row["base"]), offset)

    def _has_ended(self) -> bool:
        return all(ends.keys() >= set(self._session.bases) for ends in self._ends.values())

    async def _flush(self) -> None:
        try:
            await self._pending.write()
        except OSError as error:
            self._stop(f"writing failed ({error})")
            return
        reason = self._pending.limit_reached
        if reason is not None and not self._has_ended():
            self._stop(reason)

    def _stop(self, reason: str) -> None:
        log.error("recording of the log stopped", extra={"folder": str(self._parts.folder), "reason": reason})
        self._write_document(STOPPED, {"reason": reason})

    def _write_document(self, name: str, document: dict[str, object]) -> None:
        self._parts.folder.mkdir(parents=True, exist_ok=True)
        scratch = self._parts.folder / f"{name}.new"
        scratch.write_text(json.dumps(document))
        scratch.replace(self._parts.folder / name)
