"""The rows of the topic `health`: progress reports of Spark's queries, for monitoring only."""

from dataclasses import dataclass, field

import orjson
from pydantic import TypeAdapter, ValidationError

from streams.message_format import WireError

WINDOW_BATCH_SECONDS = 15
"""Spark writes the spread windows that ended since its last micro-batch every so many seconds. Longer
batches cost less in all, in the JVM where detection runs."""

CYCLES_QUERY = "cycles"
"""Name of the task that finds cycles: no query to Spark, but to those who look at its progress."""


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """One of Spark's queries, as its driver knows it at `reported_at`. Wall clock, microseconds UTC.

    A real-time query ends a batch every few minutes and reports nothing in between: until its first batch has
    ended, the batch fields are None. Between batches only probe rows show that it works.
    """

    session_id: str
    query: str
    is_real_time: bool
    is_active: bool
    reported_at: int
    started_at: int
    """When this run of the query began; a restart is a new one."""
    message: str
    """Spark's status message."""
    batch: int | None = None
    """Number of the newest batch that has ended."""
    batch_at: int | None = None
    """When that batch began."""
    batch_ms: int | None = None
    batch_rows: int | None = None
    input_rows_per_second: float | None = None
    processed_rows_per_second: float | None = None
    state_rows: int | None = None
    """None if the query keeps no state of Spark's."""
    state_bytes: int | None = None
    offsets: dict[str, int] = field(default_factory=dict)
    """Partition of `ticks` → the next row to read, when that batch ended."""
    checkpoint_at: int | None = None
    """When the newest of its offsets was written; None if it keeps none."""


_PROGRESS = TypeAdapter(QueryProgress)


def progress_row(progress: QueryProgress) -> bytes:
    return orjson.dumps({"kind": "query"} | _PROGRESS.dump_python(progress))


def progress_of(message: bytes) -> QueryProgress | None:
    """None for kinds of other versions. Raises WireError for an invalid row."""
    try:
        row = orjson.loads(message)
        if not isinstance(row, dict):
            raise WireError(f"a row must be an object, not {type(row).__name__}")
        return _PROGRESS.validate_python(row) if row.get("kind") == "query" else None
    except orjson.JSONDecodeError as error:
        raise WireError(f"not JSON: {error}") from error
    except ValidationError as error:
        raise WireError(f"not the progress of a query: {error.errors()[0]['msg']}") from error
