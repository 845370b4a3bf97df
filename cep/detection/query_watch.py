"""Heartbeats of the queries: Spark's progress, and probe rows that prove from outside that detection works.

Spark reports a real-time query once a batch, which lasts minutes; a probe row in the log passes it within
milliseconds or not at all. The driver's Python process writes both at a slow rate: Spark itself only passes the
probe.
"""

import json
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql.streaming.query import StreamingQuery

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from session.session import Session
from streams.errors import StreamError
from streams.query_progress import QueryProgress, progress_row
from streams.tick_writer import TickWriter
from streams.topic_writer import TopicWriter
from streams.topics import HEALTH, TICKS, bases_by_partition

HEARTBEAT_SECONDS = 2.0

log = logging.getLogger("cep")


@dataclass(frozen=True, slots=True)
class WatchedQuery:
    """`checkpoint`: its folder; None if it has no permanent one."""

    query: StreamingQuery
    is_real_time: bool
    started_at: int
    checkpoint: Path | None = None


class QueryHeartbeat:
    """Reports on queries every `interval` seconds. A Kafka outage does not affect the queries."""

    def __init__(
        self, session: Session, interval: float = HEARTBEAT_SECONDS, now: Callable[[], int] = wall_now
    ) -> None:
        self._session = session
        self._interval = int(interval * MICROSECONDS)
        self._now = now
        self._sent_at = now()
        self._writer: TopicWriter | None = None
        self._run = secrets.token_hex(4)
        self._probes = 0
        self._probed = [bases[0] for bases in bases_by_partition(session.bases, session.services.partitions).values()]

    def send(self, queries: Iterable[WatchedQuery], others: Iterable[Callable[[int], QueryProgress]] = ()) -> None:
        """Send at once, but nothing before the next heartbeat is due. `others` tell of themselves, as of a moment of
        the wall clock. Raises Py4JError if Spark's JVM is gone."""
        now = self._now()
        if now - self._sent_at < self._interval:
            return
        self._sent_at = now
        reports = [*(self._progress(watched, now) for watched in queries), *(report(now) for report in others)]
        rows = [(report.query, progress_row(report)) for report in reports]
        try:
            self._write(rows)
        except StreamError as error:
            # unusable from now on; the next heartbeat opens another
            self._writer = None
            log.warning("heartbeat could not be written", extra={"error": str(error)})

    def _write(self, rows: list[tuple[str, bytes]]) -> None:
        if self._writer is None:
            self._writer = TopicWriter(self._session.services.kafka)
        for name, row in rows:
            self._writer.write(HEALTH, row, name, 0)
        log_rows = TickWriter(self._writer, self._session.bases, self._session.services.partitions)
        self._probes += 1
        for base in self._probed:
            log_rows.marker("probe", base, f"{self._run}-{self._probes}", self._session.clock().now())

    def _progress(self, watched: WatchedQuery, now: int) -> QueryProgress:
        status = watched.query.status
        return QueryProgress(
            session_id=self._session.session_id,
            query=watched.query.name,
            is_real_time=watched.is_real_time,
            is_active=watched.query.isActive,
            reported_at=now,
            started_at=watched.started_at,
            message=str(status["message"]),
            checkpoint_at=None if watched.checkpoint is None else newest_offsets_at(watched.checkpoint),
            **_last_figures(watched.query),  # type: ignore[arg-type]  # its fields
        )


def _last_figures(query: StreamingQuery) -> dict[str, object]:
    """None before the first batch, and if Spark's report cannot be read: detection must not stop for that. Raises
    Py4JError if the JVM is gone."""
    try:
        reported = query._jsq.lastProgress()
        # as JSON: one call to the JVM instead of one per field
        return {} if reported is None else batch_figures(str(reported.json()))
    except (Py4JJavaError, ValueError, TypeError, AttributeError) as error:
        log.warning("a query's report cannot be read", extra={"query": query.name, "error": type(error).__name__})
        return {}


def batch_figures(reported: str) -> dict[str, object]:
    """Spark's JSON report of the newest batch as fields of QueryProgress; missing values are None."""
    progress = json.loads(reported)
    operators = progress.get("stateOperators") or []
    return {
        "batch": progress.get("batchId"),
        "batch_at": _microseconds(progress.get("timestamp")),
        "batch_ms": (progress.get("durationMs") or {}).get("triggerExecution", progress.get("batchDuration")),
        "batch_rows": progress.get("numInputRows"),
        "input_rows_per_second": _rate(progress.get("inputRowsPerSecond")),
        "processed_rows_per_second": _rate(progress.get("processedRowsPerSecond")),
        "state_rows": sum(one.get("numRowsTotal", 0) for one in operators) if operators else None,
        "state_bytes": sum(one.get("memoryUsedBytes", 0) for one in operators) if operators else None,
        "offsets": _offsets(progress.get("sources") or []),
    }


def newest_offsets_at(checkpoint: Path) -> int | None:
    """Microseconds; None before the first are written. From file times: Spark writes a file at the end of each
    batch."""
    try:
        times = [entry.stat().st_mtime_ns for entry in (checkpoint / "offsets").iterdir() if entry.name.isdecimal()]
    except OSError:
        # not created yet, or deleted by Spark in between
        return None
    return max(times) // 1_000 if times else None


def _offsets(sources: Iterable[Mapping[str, object]]) -> dict[str, int]:
    """Return the ends of the log's partitions; Spark gives them as an object or as text, by the source's version."""
    found: dict[str, int] = {}
    for source in sources:
        end = source.get("endOffset")
        if isinstance(end, str):
            end = json.loads(end)
        if isinstance(end, dict):
            found.update({str(partition): int(at) for partition, at in (end.get(TICKS) or {}).items()})
    return found


def _microseconds(timestamp: object) -> int | None:
    if not isinstance(timestamp, str):
        return None
    return int(datetime.fromisoformat(timestamp).timestamp() * MICROSECONDS)


def _rate(value: object) -> float | None:
    """Rows per second; Spark omits values that are not numbers, or writes them as text."""
    return float(value) if isinstance(value, int | float) else None
