"""Rows of an app on their way out, on disk until the other side has taken them.

One file for an app, whatever its version. Rows and the place up to which the topic `apps` was read are written in one
transaction, so a killed process neither loses a row nor reads it twice. The file is not forced to the disk at each
transaction: it survives a kill of the process, and after a loss of power its newest rows are read from the topic again.

What is known of each destination is in the file too: rows may name a million of them.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from cep.apps.transports.ports import OutgoingRow

Place = tuple[int, int, int, int]
"""The next offset in a partition of `apps`; time and order (two numbers) of the last row that was taken from it."""
BATCH_BYTES = 8 << 20
"""Of rows that are sent at once, but for a single one that is longer."""
_TABLES = """
CREATE TABLE IF NOT EXISTS rows (
    number INTEGER PRIMARY KEY AUTOINCREMENT, sink TEXT NOT NULL, destination TEXT NOT NULL,
    id TEXT NOT NULL, time INTEGER NOT NULL, body BLOB NOT NULL, attempts INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS queues ON rows (sink, destination, number);
CREATE TABLE IF NOT EXISTS destinations (
    sink TEXT NOT NULL, destination TEXT NOT NULL, server TEXT NOT NULL,
    first INTEGER NOT NULL, rows INTEGER NOT NULL, due INTEGER NOT NULL,
    retried INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0, lingers INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (sink, destination)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS turns ON destinations (sink, server, retried, due);
CREATE INDEX IF NOT EXISTS oldest ON destinations (sink, first);
-- counted with each row: at an opening nobody looks through a gigabyte of them
CREATE TABLE IF NOT EXISTS totals (
    sink TEXT PRIMARY KEY, rows INTEGER NOT NULL, bytes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS places (
    log TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL, time INTEGER NOT NULL,
    row INTEGER NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (log, partition)
);
CREATE TABLE IF NOT EXISTS log_sinks (
    log TEXT NOT NULL, sink TEXT NOT NULL, stream TEXT NOT NULL, PRIMARY KEY (log, sink)
);
"""
_LAYOUT = 1
"""Of the file: 1 has `totals`."""


class OutboxHeldError(Exception):
    """Another process has the app's outbox; one sentence."""


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """`number`: its place in the outbox. `attempts`: how often it was sent in vain. `size`: bytes of its values."""

    number: int
    attempts: int
    row: OutgoingRow
    size: int


@dataclass(frozen=True, slots=True)
class AddedRow:
    """A row that is to be sent. `server`: of the destination."""

    sink: str
    server: str
    destination: str
    row: OutgoingRow


@dataclass(frozen=True, slots=True)
class WaitingDestination:
    """A destination for which `rows` wait. `time`: of the first of them, milliseconds of the app's clock. `failures`:
    how often in turn it took none; `reason`: why. `lingers`: whether it was waited for more rows already."""

    destination: str
    server: str
    rows: int
    time: int
    failures: int
    lingers: bool
    reason: str


class RowOutbox:
    """The outbox in this file, which one process has at a time. Times when a destination is due are microseconds UTC.
    Raises OutboxHeldError, sqlite3.Error."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=0, isolation_level=None)
        try:
            # whoever else opens it fails at once, and after a kill nobody holds it
            self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.executescript(_TABLES)
            self._count_older()
        except sqlite3.OperationalError as error:
            self._connection.close()
            if "locked" in str(error):
                raise OutboxHeldError(f"another run sends the rows of this app ({path})") from None
            raise

    def close(self) -> None:
        self._connection.close()

    def begin(self, log: str, sinks: Mapping[str, str], places: Mapping[int, Place]) -> None:
        """Note that an app's version gives rows to these sinks (name → stream) from `places` on, before it does.
        `log`: names the topic and the version."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM log_sinks WHERE log = ?", (log,))
            connection.executemany("INSERT INTO log_sinks VALUES (?, ?, ?)", [(log, *one) for one in sinks.items()])
            self._save_places(connection, {log: places})

    def places(self) -> dict[str, dict[int, Place]]:
        """Return how far each partition was read, by log."""
        found: dict[str, dict[int, Place]] = {}
        for log, partition, *place in self._connection.execute(
            "SELECT log, partition, next, time, row, place FROM places"
        ):
            following, time, row, number = place
            found.setdefault(log, {})[partition] = (following, time, row, number)
        return found

    def sinks_of(self, log: str) -> dict[str, str]:
        """Return the sinks that the version had, with their streams."""
        found = self._connection.execute("SELECT sink, stream FROM log_sinks WHERE log = ?", (log,))
        return dict(found.fetchall())

    def forget(self, log: str) -> None:
        """Forget a log that is not there any more."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM log_sinks WHERE log = ?", (log,))
            connection.execute("DELETE FROM places WHERE log = ?", (log,))

    def add(self, rows: Iterable[AddedRow], places: Mapping[str, Mapping[int, Place]], now: int) -> None:
        """Keep the rows, and how far the logs were read with them. A destination that is new is due `now`."""
        given = list(rows)
        queued = [(one.sink, one.destination, one.row.id, one.row.time, orjson.dumps(one.row.values)) for one in given]
        counts = Counter((one.sink, one.destination, one.server) for one in given)
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO rows (sink, destination, id, time, body) VALUES (?, ?, ?, ?, ?)", queued
            )
            connection.executemany(
                "INSERT INTO destinations (sink, destination, server, first, rows, due) VALUES "
                "(?, ?, ?, (SELECT MIN(number) FROM rows WHERE sink = ? AND destination = ?), ?, ?) "
                "ON CONFLICT DO UPDATE SET rows = rows + excluded.rows",
                [(*key, server, *key, count, now) for (*key, server), count in counts.items()],
            )
            self._save_places(connection, places)
            connection.executemany(
                "INSERT INTO totals VALUES (?, 1, ?) "
                "ON CONFLICT DO UPDATE SET rows = rows + 1, bytes = bytes + excluded.bytes",
                [(sink, len(body)) for sink, _, _, _, body in queued],
            )

    def first(self, sink: str, destination: str, most: int) -> list[WaitingRow]:
        """Return the rows that are next: as many as BATCH_BYTES have, at least one."""
        found = self._connection.execute(
            "SELECT number, attempts, id, time, body FROM rows WHERE sink = ? AND destination = ? "
            "ORDER BY number LIMIT ?",
            (sink, destination, most),
        )
        rows, size = list[WaitingRow](), 0
        for number, attempts, id_, time, body in found:
            size += len(body)
            if rows and size > BATCH_BYTES:
                break
            rows.append(WaitingRow(number, attempts, OutgoingRow(id_, time, orjson.loads(body)), len(body)))
        return rows

    def note_attempt(self, rows: Sequence[WaitingRow]) -> None:
        """Count an attempt that failed."""
        with self._transaction() as connection:
            connection.executemany(
                "UPDATE rows SET attempts = attempts + 1 WHERE number = ?", [(one.number,) for one in rows]
            )

    def remove(self, sink: str, destination: str, rows: Sequence[WaitingRow], now: int) -> None:
        """Forget rows of a destination that were taken, or given up; it is due `now` with the next ones, after others
        that wait."""
        key = (sink, destination)
        with self._transaction() as connection:
            connection.executemany("DELETE FROM rows WHERE number = ?", [(one.number,) for one in rows])
            connection.execute(
                "DELETE FROM destinations WHERE sink = ? AND destination = ? AND rows <= ?", (*key, len(rows))
            )
            connection.execute(
                "UPDATE destinations SET rows = rows - ?, due = ?, retried = 0, failures = 0, lingers = 0, "
                "reason = '', first = (SELECT MIN(number) FROM rows WHERE sink = ? AND destination = ?) "
                "WHERE sink = ? AND destination = ?",
                (len(rows), now, *key, *key),
            )
            connection.execute(
                "UPDATE totals SET rows = rows - ?, bytes = bytes - ? WHERE sink = ?",
                (len(rows), sum(one.size for one in rows), sink),
            )

    def servers(self, sink: str) -> list[str]:
        """Return the servers for which rows wait."""
        found = self._connection.execute("SELECT DISTINCT server FROM destinations WHERE sink = ?", (sink,))
        return [server for (server,) in found]

    def due(self, sink: str, server: str, now: int, most: int, *, retried: bool = False) -> list[str]:
        """Return destinations of the server whose turn it is, those first that are due for longest. `retried`:
        those that took nothing the last time; else the others."""
        found = self._connection.execute(
            "SELECT destination FROM destinations WHERE sink = ? AND server = ? AND retried = ? AND due <= ? "
            "ORDER BY due LIMIT ?",
            (sink, server, retried, now, most),
        )
        return [destination for (destination,) in found]

    def next_due(self, sink: str, server: str, now: int, *, retried: bool = False) -> int | None:
        """Return when the next destination of the server is due that is not `now`; None if there is none."""
        found: tuple[int | None] = self._connection.execute(
            "SELECT MIN(due) FROM destinations WHERE sink = ? AND server = ? AND retried = ? AND due > ?",
            (sink, server, retried, now),
        ).fetchone()
        return found[0]

    def put_off(self, sink: str, destination: str, due: int, reason: str) -> None:
        """Note that the destination took nothing, and why."""
        self._connection.execute(
            "UPDATE destinations SET due = ?, retried = 1, failures = failures + 1, reason = ? "
            "WHERE sink = ? AND destination = ?",
            (due, reason, sink, destination),
        )

    def linger(self, sink: str, destination: str, due: int) -> None:
        """Let the destination's rows wait for more."""
        self._connection.execute(
            "UPDATE destinations SET due = ?, lingers = 1 WHERE sink = ? AND destination = ?", (due, sink, destination)
        )

    def end_linger(self, sink: str, destination: str, most: int, now: int) -> None:
        """Let the destination be due `now` if its rows wait for more, and it has so many."""
        self._connection.execute(
            "UPDATE destinations SET due = MIN(due, ?) "
            "WHERE sink = ? AND destination = ? AND lingers AND failures = 0 AND rows >= ?",
            (now, sink, destination, most),
        )

    def destination(self, sink: str, destination: str) -> WaitingDestination | None:
        """Return what is known of the destination; None if no row waits for it."""
        return next(self._destinations("d.sink = ? AND d.destination = ?", sink, destination), None)

    def oldest(self, sink: str, most: int) -> list[WaitingDestination]:
        """Return the destinations that wait longest."""
        return list(self._destinations("d.sink = ? ORDER BY d.first LIMIT ?", sink, most))

    def sinks(self) -> dict[str, int]:
        """Return how many rows wait of each sink, also of those that the app's text no longer has."""
        return dict(self._connection.execute("SELECT sink, rows FROM totals WHERE rows > 0").fetchall())

    def _save_places(self, connection: sqlite3.Connection, places: Mapping[str, Mapping[int, Place]]) -> None:
        read = [(log, partition, *place) for log, one in places.items() for partition, place in one.items()]
        connection.executemany("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?, ?)", read)

    def sizes(self) -> dict[str, int]:
        """Return how many bytes the values of each sink's rows have."""
        return dict(self._connection.execute("SELECT sink, bytes FROM totals WHERE rows > 0").fetchall())

    def _count_older(self) -> None:
        """Count the rows of a file that an earlier version of this program made."""
        with self._transaction() as connection:
            (layout,) = connection.execute("PRAGMA user_version").fetchone()
            if layout < _LAYOUT:
                connection.execute(
                    "INSERT OR REPLACE INTO totals SELECT sink, COUNT(*), SUM(LENGTH(body)) FROM rows GROUP BY sink"
                )
                connection.execute(f"PRAGMA user_version = {_LAYOUT}")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connection as connection:
            connection.execute("BEGIN")
            yield connection

    def _destinations(self, condition: str, *values: object) -> Iterator[WaitingDestination]:
        found = self._connection.execute(
            "SELECT d.destination, d.server, d.rows, r.time, d.failures, d.lingers, d.reason "  # noqa: S608 - ours
            f"FROM destinations d JOIN rows r ON r.number = d.first WHERE {condition}",
            values,
        )
        for destination, server, rows, time, failures, lingers, reason in found:
            yield WaitingDestination(destination, server, rows, time, failures, bool(lingers), reason)
