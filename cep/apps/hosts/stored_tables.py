"""Tables that are kept beyond a session. The app's own table is the truth, and what becomes of its rows is among the
app's rows, in the topic `apps`; whoever keeps them leaves out what is written again (`not_kept`), and so ends with the
same. What the table had is in the app's input log, before anything else.
"""

import asyncio
from collections.abc import Awaitable, Callable, Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from cep.apps.hosts.app_outside import StoredTable
from cep.apps.hosts.input_log import TABLES, InputPlace, SourceRow
from cep.apps.language.expression_tree import ValueType
from cep.apps.parts.chunks import Row
from cep.apps.parts.tables import Table
from streams.message_format import WireError, row_of
from streams.records import Record

CHANGE = ("key", "row")
"""Names of a change's values: the row's key, a list or a number, and its values by column; None: it is gone."""
SHARED_CHANGE = (*CHANGE, "stamp")
"""The same of a table that regions share (`cep.apps.hosts.shared_rows`), whose keys are lists."""
PIECE_BYTES = 1 << 18
"""In one row of an input log, and a row of a table more."""
ALL = 1_000_000_000
"""The number of the row of an input log behind which the tables are filled."""


ChangeOrder = tuple[int, int, int]
"""Time, offset of the row that caused it, and place among the app's rows of that."""
_TableRow = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class TableChange:
    """`number`: of a row if the table has no primary key; else 0. `order`: time of the app's clock, and by which row
    it is, as in its id; later changes of a version are greater. `version`: its label. `offset`: in the topic `apps`.
    `stamp`: of a table that regions share; the greatest wins."""

    collection: str
    key: str
    number: int
    row: Mapping[str, Any] | None
    order: ChangeOrder
    version: str
    offset: int
    stamp: str | None = None


def change_of(table: StoredTable, key: Hashable, row: Row | None) -> Row:
    values = None if row is None else {name: value for (name, _), value in zip(table.columns, row, strict=True)}
    return (list(key) if isinstance(key, tuple) else key), values


def table_changes(records: Iterable[Record], app: str, tables: Iterable[StoredTable]) -> Iterator[TableChange]:
    """Those of the app with this name, in whichever version."""
    collections = {one.table: one.collection for one in tables}
    for record in records:
        try:
            row = row_of(record.value)
            if row["app"] != app or row["stream"] not in collections:
                continue
            key, values = (row["values"][name] for name in CHANGE)
            number = key if isinstance(key, int) else 0
            version, _, at, place = str(row["id"]).rsplit(":", 3)
            order = int(row["time"]), int(at), int(place)
            text, collection = orjson.dumps(key).decode(), collections[row["stream"]]
            stamp = row["values"].get("stamp")
            yield TableChange(collection, text, number, values, order, version, record.offset, stamp)
        except (WireError, KeyError, TypeError, ValueError, IndexError):
            continue


def not_kept(changes: Iterable[TableChange], kept: dict[str, ChangeOrder]) -> Iterator[TableChange]:
    """Without those that a version has written again. `kept`: its last one that was kept, by version; follows them.

    A log that was deleted and made again has lower offsets, and later times: its changes are new.
    """
    for change in changes:
        last = kept.get(change.version, (-1, -1, -1))
        if change.order[0] > last[0] or change.order[1:] > last[1:]:
            kept[change.version] = change.order
            yield change


def fill(table: Table, stored: StoredTable, values: Row) -> None:
    """With a row of the input log, which is behind its number there. Raises ValueError if a value is not what its
    column says by now, or the table has another key."""
    number, *found = values
    names = (name for name, _ in stored.columns)
    row = typed_row(stored, dict(zip(names, found, strict=True)))
    try:
        table.fill(row, int(number))
    except ValueError as error:
        raise ValueError(f"{stored.table!r} is {error}") from error


def typed_row(table: StoredTable, values: Mapping[str, Any]) -> Row:
    """From its values by column, as JSON has them. Raises ValueError."""
    try:
        return tuple(typed(table.table, name, kind, values.get(name)) for name, kind in table.columns)
    except ValueError as error:
        raise ValueError(f"{error}: give the table another collection") from error


def typed(name: str, column: str, kind: ValueType, value: Any) -> Any:
    """Return a value as JSON has it. Raises ValueError."""
    try:
        return None if value is None else _TYPED[kind](value)
    except (InvalidOperation, ValueError, TypeError) as error:
        problem = f"{name!r} is kept with {str(value)[:40]!r} in {column!r}, which is {kind} by now"
        raise ValueError(problem) from error


_TYPED: Mapping[ValueType, Callable[[Any], Any]] = {
    "string": str,
    "bool": bool,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "decimal": Decimal,
}


def _pieces(rows: Iterable[_TableRow]) -> Iterator[list[_TableRow]]:
    piece, size = list[_TableRow](), 0
    for row in rows:
        piece.append(row)
        size += len(orjson.dumps(row))
        if size >= PIECE_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


KeptRows = Callable[[StoredTable], Awaitable[Iterable[tuple[Any, ...]]]]
"""What a table is filled with, in its order: each row's number and its values by column, or of a table that regions
share its changes, by SHARED_CHANGE."""


class TableSource:
    """`cep.apps.hosts.input_merger.InputSource`: what the tables have, once, where the input log begins."""

    topic = TABLES

    def __init__(
        self,
        tables: Iterable[StoredTable],
        partition: int,
        place: InputPlace,
        time: int,
        kept: KeptRows,
        shared: Container[str] = (),
    ) -> None:
        """`time`: microseconds, before all other rows of the log. `shared`: names of those that regions share."""
        tables = tuple(tables)
        self._own = [one for one in tables if one.table not in shared]
        self._shared = [one for one in tables if one.table in shared]
        self._partition, self._time, self._kept = partition, time, kept
        self._done = place.next.get(TABLES, 0)

    @property
    def is_behind(self) -> bool:
        return self._done <= ALL

    async def next(self) -> list[SourceRow]:
        if not self.is_behind:
            await asyncio.Event().wait()
        own, shared = [[*_pieces(await self._rows(tables))] for tables in (self._own, self._shared)]
        # who goes on amid them begins with those that are not there: nothing has changed the tables since; but other
        # regions change what is shared, and of those nothing is lost if it is there twice
        left = [*[*enumerate(own)][self._done :], *enumerate(shared, max(self._done, len(own)))]
        self._done = ALL + 1
        return [SourceRow(TABLES, self._partition, at, self._time, piece) for at, piece in (*left, (ALL, []))]

    async def close(self) -> None: ...

    async def _rows(self, tables: Iterable[StoredTable]) -> list[_TableRow]:
        return [(one.table, values) for one in tables for values in await self._kept(one)]


def kept_values(table: StoredTable, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[tuple[Any, ...]]:
    """Return the values of rows with their numbers, by column: what a table of the region's own is filled with."""
    return ((number, *(row.get(name) for name, _ in table.columns)) for number, row in rows)
