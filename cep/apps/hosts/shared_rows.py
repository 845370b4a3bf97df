"""Rows that apps of all regions share, as they go from one region to the others: which came before, and which of two
changes of a row of a table wins. Pure.

Each region sends what its own apps wrote, and never what it was sent. Rows come at least once, each source's in their
order, and those of several sources in any order, whenever the links between regions allow. Of a table the change with
the greatest stamp wins, and a row that is gone leaves its stamp, so tables are equal once all regions have all changes.

What comes to a region is in the app's input log (`cep.apps.hosts.input_log`): a row of the topic `shared-in` has the
stream's or table's name, and origin, offset, number and time of the row in its own region, and its content: values by
column, or of a table a change.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from cep.apps.engine.junctions import RowListener
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.app_outside import StoredTable
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.hosts.input_log import SourceRow
from cep.apps.hosts.shared_parts import SharedParts
from cep.apps.hosts.stored_tables import (
    CHANGE,
    SHARED_CHANGE,
    StoredRows,
    change_of,
    exact,
    exact_row,
    fill,
    typed,
    typed_row,
)
from cep.apps.parts.chunks import Row
from cep.apps.parts.tables import Table
from streams.message_format import WireError, row_of
from streams.records import Record
from streams.topics import SHARED_IN

Stamp = str
"""The stamp of a change: the time by the app's clock, the region, and the order among the region's changes. As a text,
so that MongoDB says of two which is greater, too."""
Order = tuple[int, int]
"""By which row of its log an app gave a row, and the place among the app's rows of that; as in the row's id."""
_TIME_DIGITS = 15
STAMP_KEPT_MS = 2 * 86_400_000
"""How long the stamp of a row that is gone is kept: longer than Kafka keeps a change that it would have to beat."""


def stamp_of(time: int, region: str, order: Order) -> Stamp:
    """`time`: milliseconds."""
    # a blank is less than all characters of a region's name, so texts have the order of what they are made of
    return f"{time:0{_TIME_DIGITS}d} {region} {order[0]:019d} {order[1]:010d}"


def first_of(time: int) -> Stamp:
    """Less than all stamps of that time (milliseconds) or later, and greater than those of before."""
    return f"{max(0, time):0{_TIME_DIGITS}d}"


def oldest_kept(now: int) -> Stamp:
    """Less than the stamps that are kept of rows that are gone. `now`: milliseconds."""
    return first_of(now - STAMP_KEPT_MS)


def changed_before(changes: Iterable[Row], time: int) -> list[Row]:
    """Return those of the changes, by SHARED_CHANGE, with which an app begins whose first row is of that time
    (milliseconds).

    Later ones come from `shared-in` where they came. Who knew them from the start would change a row with one of the
    past, and win: who has seen a row always does.
    """
    return [change for change in changes if str(change[-1]) < first_of(time)]


def time_in(stamp: Stamp) -> int:
    """Milliseconds. Raises ValueError if it is none."""
    return int(stamp[:_TIME_DIGITS])


def shared_message(row: Mapping[str, Any], session_id: str, region: str) -> bytes:
    """Return a row of the topic `apps` as one of `shared`."""
    return orjson.dumps({"session": session_id, "region": region, **row})


@dataclass(frozen=True, slots=True)
class SharedReader:
    """Rows of `shared-in` that one app takes, for its input log. `since`: where its log begins, microseconds: no row is
    from before."""

    app: str
    parts: SharedParts
    session_id: str
    since: int
    warnings: CountedWarnings
    market_time: Callable[[int], int] = int

    def row(self, record: Record) -> SourceRow | None:
        """None if it is another app's, or of a stream of another session, or none that this version takes. Tables
        outlive sessions, and take what an earlier one left on the way."""
        try:
            row = row_of(record.value)
            name = str(row["stream"])
            is_here = name in self.parts.names and row["app"] == self.app
            if not is_here or (name in self.parts.streams and row["session"] != self.session_id):
                return None
            id_, offset, number = str(row["id"]).rsplit(":", 2)
            origin = f"{row['region']}:{id_}", int(offset), int(number), int(row["time"])
            content = self._content(name, row["values"])
        except (WireError, KeyError, TypeError, ValueError, AttributeError) as error:
            self.warnings.tell("row left out", str(error), partition=record.partition, offset=record.offset)
            return None
        time = self.market_time(max(self.since, record.time))
        return SourceRow(SHARED_IN, record.partition, record.offset, time, [(name, (*origin, content))], record.key)

    def _content(self, name: str, values: Mapping[str, Any]) -> Sequence[Any]:
        columns = self.parts.streams.get(name)
        if columns is None:
            key, row, stamp = (values[part] for part in SHARED_CHANGE)
            if not isinstance(key, list) or not isinstance(row, dict | None) or not isinstance(stamp, str):
                raise ValueError(f"{name!r}: no change of a table")
            return [key, row, stamp]
        for column, kind in columns:
            typed(name, column, kind, values.get(column))
        return [values.get(column) for column, _ in columns]


class SharedRows:
    """What one partition of an app keeps of the rows that regions share."""

    def __init__(self, region: str, parts: SharedParts) -> None:
        self._region, self._parts = region, parts
        self._tables = {one.table: SharedTable(one, region) for one in parts.tables}
        self._last: dict[str, tuple[int, int, int]] = {}
        """Origin → time, offset and number of the last row that was taken."""
        self._from_elsewhere: str | None = None
        """The stream that gets a row of another region now, which is none of the app's own rows."""

    def fresh(self, rows: Iterable[tuple[str, Row]]) -> list[tuple[str, Row]]:
        """Return what is new in rows of `shared-in` in an input log: the stream's row, or the table's change. Raises
        ValueError, TypeError, KeyError if one came before, or is none."""
        found = []
        for name, (origin, offset, number, time, content) in rows:
            last = self._last.get(origin, (-1, -1, -1))
            # a log that was deleted and made again has lower offsets, and later times
            if (offset, number) <= last[1:] and time <= last[0]:
                raise ValueError(f"row {offset}:{number} of {origin} was there before")
            self._last[origin] = time, offset, number
            columns = None if name in self._tables else self._parts.streams[name]
            found.append((name, tuple(content) if columns is None else self._row(name, columns, content)))
        return found

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(self._parts.streams)

    def take(self, engine: StreamEngine, rows: Iterable[tuple[str, Row]]) -> None:
        """Let the app see `fresh` rows of other regions, and its tables their changes."""
        for name, values in rows:
            if name in self._tables:
                # another version's change, of a table with other columns or another key, is none here
                with suppress(ValueError):
                    self._tables[name].put(engine.data.table(name), values)
                continue
            self._from_elsewhere = name
            try:
                engine.send(name, engine.now, values)
            finally:
                self._from_elsewhere = None

    def own_alone(self, stream: str, listener: RowListener) -> RowListener:
        """Return one that hears of the stream's rows which this region's apps made."""

        def own(at: int, row: Row) -> None:
            # rows of other regions are there already, and no row of the stream is made of one (`check_shared`)
            if stream != self._from_elsewhere:
                listener(at, row)

        return own

    def fill(self, table: StoredRows, stored: StoredTable, change: Row) -> None:
        """Take what a table had. Raises ValueError if it is another one by now."""
        if isinstance(table, Table) and stored.table in self._tables:
            self._tables[stored.table].put(table, change)
        else:
            fill(table, stored, change)

    def change_columns(self, stored: StoredTable) -> tuple[str, ...]:
        return SHARED_CHANGE if stored.table in self._tables else CHANGE

    def change(self, stored: StoredTable, key: Hashable, row: Row | None, now: int, order: Order) -> Row:
        """Return the values of a change of this region's own, by `change_columns`. `now`: milliseconds."""
        if stored.table in self._tables:
            return self._tables[stored.table].reported(key, row, now, order)
        return change_of(stored, key, row)

    def forget(self, now: int) -> None:
        """Stamps of rows that are gone for long. To be called at the same rows wherever the log is read."""
        for table in self._tables.values():
            table.forget(now)

    def with_own(self, state: object) -> object:
        """Return the state of an app with what is kept here."""
        return state, (self._last, {name: table.state() for name, table in self._tables.items()})

    def restored(self, state: Any) -> Any:
        """Go on from what `with_own` returned, and return the app's state in it."""
        of_app, (self._last, tables) = state
        for name, table in self._tables.items():
            table.restore(tables[name])
        return of_app

    @staticmethod
    def _row(name: str, columns: Iterable[tuple[str, Any]], content: Sequence[Any]) -> Row:
        pairs = zip(columns, content, strict=True)
        return tuple(typed(name, column, kind, value) for (column, kind), value in pairs)


class NoSharedRows:
    """Of an app that shares nothing: what `SharedRows` does, where there are no rows of other regions."""

    streams: tuple[str, ...] = ()

    def fresh(self, rows: list[tuple[str, Row]]) -> list[tuple[str, Row]]:
        return rows

    def take(self, engine: StreamEngine, rows: Iterable[tuple[str, Row]]) -> None:
        """There are none."""

    def own_alone(self, _stream: str, listener: RowListener) -> RowListener:
        return listener

    def fill(self, table: StoredRows, stored: StoredTable, change: Row) -> None:
        fill(table, stored, change)

    def change_columns(self, _stored: StoredTable) -> tuple[str, ...]:
        return CHANGE

    def change(self, stored: StoredTable, key: Hashable, row: Row | None, _now: int, _order: Order) -> Row:
        return change_of(stored, key, row)

    def forget(self, now: int) -> None:
        """There is nothing to forget."""

    def with_own(self, state: object) -> object:
        return state

    def restored(self, state: Any) -> Any:
        return state


RegionRows = SharedRows | NoSharedRows


class SharedTable:
    """The stamps of a table's rows, by their keys in the table, and of those that are gone. A row without a primary key
    has its number, and one of another region this region's name as well."""

    def __init__(self, stored: StoredTable, region: str) -> None:
        self._stored, self._region = stored, region
        self._stamps: dict[Hashable, Stamp] = {}
        self._gone: dict[Hashable, Stamp] = {}
        """Those of rows that are gone, about in their order."""

    def reported(self, key: Hashable, row: Row | None, now: int, order: Order) -> Row:
        last = self._stamps.get(key)
        # who has seen a row is not beaten by it because of a clock
        time = now if last is None else max(now, time_in(last) + 1)
        stamp = stamp_of(time, self._region, order)
        self._note(key, stamp, is_gone=row is None)
        return self._shared_key(key), exact_row(self._stored, row), stamp

    def put(self, table: Table, change: Row) -> None:
        key, values, stamp = change
        row = None if values is None else typed_row(self._stored, values)
        own = self._own_key(table, key)
        if str(stamp) > self._stamps.get(own, ""):
            time_in(stamp)
            table.put(own, row)
            self._note(own, str(stamp), is_gone=row is None)

    def forget(self, now: int) -> None:
        while self._gone:
            key, stamp = next(iter(self._gone.items()))
            if stamp > oldest_kept(now):
                return
            del self._gone[key], self._stamps[key]

    def state(self) -> object:
        return self._stamps, self._gone

    def restore(self, state: Any) -> None:
        self._stamps, self._gone = state

    def _note(self, key: Hashable, stamp: Stamp, *, is_gone: bool) -> None:
        self._stamps[key] = stamp
        self._gone.pop(key, None)
        if is_gone:
            self._gone[key] = stamp

    def _shared_key(self, key: Hashable) -> list[Any]:
        return list(map(exact, key)) if isinstance(key, tuple) else [self._region, key]

    def _own_key(self, table: Table, key: Sequence[Any]) -> Hashable:
        """Raise ValueError."""
        if table.key_columns:
            if len(key) != len(table.key_columns):
                raise ValueError(f"{self._stored.table!r} is kept with another key: give the table another collection")
            pairs = zip(table.key_columns, key, strict=True)
            return tuple(typed(self._stored.table, one.name, one.type, value) for one, value in pairs)
        region, number = key
        if not isinstance(region, str) or not isinstance(number, int):
            raise ValueError(f"{self._stored.table!r} is kept with a key: give the table another collection")
        return number if region == self._region else (region, number)
