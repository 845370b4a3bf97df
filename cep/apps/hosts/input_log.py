"""The input log of an app that reads more than one topic: a topic of its own, in which the rows of all of them stand in
one order. The app reads that log alone, so what ran can be run again.

A row is a JSON object, in the partition of its base:

* `session`: the session's id; `topic`, `partition`, `offset`: where it came from; `time`: its own, microseconds UTC;
* `rows`: what it is in each stream: the stream's name, and its values by column; [] if it moves the clock alone. Before
  a row of the error store that is given again stands `replays`, with the row's stream and its id;
* `next`: topic → offset of the next row that is not in the log yet, of all topics up to here; `token`: the same of
  MongoDB, None if none of it is read.

A row of `topic` `kafka:SERVERS/TOPIC/PARTITION` is one of a topic of the user's own, with its offset there. One of
`calls:ID` is the answer to a request of the sink ID, with the request's number as `offset`. One of `shared-in` is of
another region (`cep.apps.hosts.shared_rows`). The first rows of the log, of `topic` `tables`, say what the app's tables
have: a table's name, a row's number and values, or the last change of a row that regions share.

So the last row of a partition says where whoever writes the log goes on, and a row that is there twice is known by its
`offset`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from cep.apps.hosts.product_streams import ProductStream
from streams.message_format import WireError, row_of
from streams.records import Position, Record
from streams.topics import TICKS

CALLS = "calls"
"""In place of a topic, for streams that have responses; below it each sink is a source of its own."""
TABLES = "tables"
"""In place of a topic, for what the app's tables had when its input log began."""
REPLAYS = "replays!"
"""In place of a stream, before a row that failed before; no stream has the name."""
CLOCK_KINDS = frozenset(("probe", "settings"))
"""Rows of `ticks` that move every app's clock, whatever it reads; a probe comes every two seconds."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A row that belongs into the log. `rows`: as there. Of one source each has another `offset`, and a higher one."""

    topic: str
    partition: int
    offset: int
    time: int
    rows: Sequence[tuple[str, Sequence[Any]]]
    key: str | None = None
    token: str | None = None
    """Where in MongoDB's changes it is, if it comes from there."""
    passed: tuple[str, int] | None = None
    """A topic that its source reads, and the offset there from which on whoever goes on has to read it again."""


@dataclass(frozen=True, slots=True)
class InputPlace:
    """How far a partition of the log has come; nothing of the session is in it if it is empty."""

    next: Mapping[str, int] = field(default_factory=dict)
    token: str | None = None

    def after(self, row: SourceRow) -> "InputPlace":
        passed = {} if row.passed is None else {row.passed[0]: row.passed[1]}
        return InputPlace({**self.next, **passed, row.topic: row.offset + 1}, row.token or self.token)


def time_of(topic: str, row: Mapping[str, Any], written_at: int) -> int:
    """Return a row's time by the app's clock, microseconds: `ticks` have the time at which they were received, others
    that at which they were written. Raises KeyError, TypeError, ValueError if it has none."""
    return int(row["received_time"] if topic == TICKS else written_at)


def record_row(
    record: Record, streams: Iterable[ProductStream], market_time: Callable[[int], int] = int
) -> SourceRow | None:
    """As `source_row`. None too if the record cannot be read. `market_time`: of the wall's."""
    try:
        row = row_of(record.value)
    except WireError:
        return None
    return source_row(record.position, record.offset, market_time(record.time), row, streams)


def source_row(
    position: Position, offset: int, written_at: int, row: Mapping[str, Any], streams: Iterable[ProductStream]
) -> SourceRow | None:
    """`streams`: those of the app. None if the row is of none of them and moves no clock, or is none of its
    topic's."""
    topic, partition = position
    try:
        found = [(stream.name, stream.row_of(row)) for stream in streams if stream.topic == topic]
        time = time_of(topic, row, written_at)
    except (ValueError, TypeError, AttributeError, KeyError):
        return None
    rows = tuple((name, values) for name, values in found if values is not None)
    if not rows and (topic != TICKS or row.get("kind") not in CLOCK_KINDS):
        return None
    base = row.get("base")
    return SourceRow(topic, partition, offset, time, rows, base if isinstance(base, str) else None)


def input_message(session_id: str, row: SourceRow, place: InputPlace) -> bytes:
    """`place`: after the row."""
    return orjson.dumps(
        {
            "session": session_id,
            "topic": row.topic,
            "partition": row.partition,
            "offset": row.offset,
            "time": row.time,
            "rows": row.rows,
            "next": place.next,
            "token": place.token,
        }
    )


def place_in(message: bytes, session_id: str) -> InputPlace:
    """After a row of the log; the beginning if it is another session's."""
    try:
        row = row_of(message)
        if row["session"] != session_id:
            return InputPlace()
        following = {str(topic): int(offset) for topic, offset in row["next"].items()}
        return InputPlace(following, None if row["token"] is None else str(row["token"]))
    except (WireError, KeyError, TypeError, ValueError, AttributeError):
        return InputPlace()
