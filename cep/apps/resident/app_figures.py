"""What is seen of one app in one process while it runs: the newest rows of its streams, and how much it does."""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from cep.apps.engine.junctions import RowListener
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.language.stream_names import output_streams, stream_names
from cep.apps.parts.chunks import Row
from cep.apps.resident.written_mark import WrittenMark
from runtime.app_door import MOST_ROWS
from runtime.clock import wall_now

ROWS_BETWEEN_TIMES = 32
"""One row in so many is timed, since reading a clock twice for each would cost more than many an app does."""


SeenRow = tuple[int, int, int, Row]
"""A plain tuple, since one is made for every row of every stream: the offset of the row of the log that caused it, its
number among the app's rows for that (`given`) or among the stream's, its time in milliseconds, and its values."""


Follower = Callable[[SeenRow], None]


class AppFigures:
    def __init__(self, source: AppSource, partition: int, mark: WrittenMark) -> None:
        """`mark`: how far the process before this one had come."""
        self._source, self._partition, self._mark = source, partition, mark
        self._given = frozenset(output_streams(source.app))
        self._inserted = frozenset(stream_names(source.app).inserted)
        self._columns: dict[str, tuple[str, ...]] = {}
        self.newest: dict[str, deque[SeenRow]] = {}
        self.counts: Counter[str] = Counter()
        """Rows by stream since this process has the app, without those that the one before had already given."""
        self.repeats = 0
        """Rows given again."""
        self._followers: dict[str, list[Follower]] = {}
        self._busy_us = 0
        self._begun_at = wall_now()
        self.last_at = 0
        """When the last row that it took was written, microseconds."""
        self._saved_at = 0
        self._state_bytes = 0

    def observe(self, app: HostedApp, engine: StreamEngine) -> None:
        """Look at every row of every stream from now on."""
        for stream, columns in engine.plan.streams.items():
            self._columns[stream] = tuple(column.name for column in columns)
            engine.listen(stream, self._listener(stream, app))

    def took(self, microseconds: int) -> None:
        """Note how long it took over a row that is one of ROWS_BETWEEN_TIMES."""
        self._busy_us += microseconds * ROWS_BETWEEN_TIMES

    def gave(self, offset: int) -> None:
        """Note that the row of the log at the offset gave rows."""
        self._mark.note(offset)

    def close(self) -> None:
        """End it: the app has left."""
        self._mark.close()

    def saved(self, state_bytes: int) -> None:
        self._saved_at, self._state_bytes = wall_now(), state_bytes

    def columns_of(self, stream: str) -> tuple[str, ...]:
        """Raise KeyError if the app has no such stream, or has had no row yet."""
        return self._columns[stream]

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def follow(self, stream: str, follower: Follower) -> Callable[[], None]:
        """Call `follower` with each row of the stream from now on; returns what ends that."""
        followers = self._followers.setdefault(stream, [])
        followers.append(follower)
        return lambda: followers.remove(follower)

    def row(self, stream: str, seen: SeenRow) -> Mapping[str, Any]:
        """Return the row as others see it. The id of a row in the topic `apps` is the one there."""
        offset, number, time, values = seen
        within = str(number) if stream in self._given else f"{stream}.{number}"
        return {
            "id": f"{self._source.label}:{self._partition}:{offset}:{within}",
            "time": time,
            "values": dict(zip(self._columns[stream], values, strict=True)),
        }

    def reported(self, app: HostedApp, following: int) -> Mapping[str, Any]:
        """Return all figures. `following`: its next offset."""
        inserted = self._inserted
        amounts = Counter[str]()
        if app.engine is not None:
            for (_, amount), count in app.engine.amounts.counts().items():
                amounts[amount] += count
        return {
            "rows_in": sum(count for one, count in self.counts.items() if one not in inserted and one[0] != "!"),
            "rows_out": sum(self.counts[one] for one in self._given),
            "repeats": self.repeats,
            "errors": {one: count for one, count in self.counts.items() if one.startswith("!")},
            "streams": dict(self.counts),
            "offset": following,
            "log_time": 0 if app.engine is None else app.engine.now,
            "last_row_at": self.last_at,
            "busy_us": self._busy_us,
            "state_bytes": self._state_bytes,
            "snapshot_at": self._saved_at,
            "begun_at": self._begun_at,
            "kept": dict(amounts),
        }

    def _listener(self, stream: str, app: HostedApp) -> RowListener:
        kept, counts, is_given = deque[SeenRow](maxlen=MOST_ROWS), self.counts, stream in self._given
        self.newest[stream] = kept
        followers, before = self._followers.setdefault(stream, []), self._mark.before
        last, within = -1, 0

        def listener(at: int, row: Row) -> None:
            nonlocal last, within
            offset = app.busy_with or 0
            if offset >= before:
                counts[stream] += 1
            elif is_given:
                self.repeats += 1
            last, within = offset, within + 1 if offset == last else 0
            seen = offset, app.given - 1 if is_given else within, at, row
            kept.append(seen)
            for follower in followers:
                follower(seen)

        return listener
