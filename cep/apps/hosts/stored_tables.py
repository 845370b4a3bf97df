"""Tables and aggregations that are kept beyond a session. The app's own table is the truth, and what becomes of its
rows is among the app's rows, in the topic `apps`; whoever keeps them leaves out what is written again (`not_kept`), and
so ends with the same. What the table had is in the app's input log, before anything else.
"""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol

import orjson

from cep.apps.compiler.aggregation import AggregationPlan
from cep.apps.engine.carried_state import CarriedParts
from cep.apps.hosts.app_outside import StoredTable
from cep.apps.hosts.input_log import TABLES, InputPlace, SourceRow
from cep.apps.language.expression_tree import ValueType
from cep.apps.parts.aggregations import Aggregation, Bucket, BucketKey
from cep.apps.parts.chunks import Row
from cep.apps.parts.tables import TableListener
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


class StoredRows(Protocol):
    """What is kept beyond a session: a table, or the buckets of an aggregation."""

    def fill(self, row: Row, number: int) -> None:
        """Fill in a row that was there before. Raises ValueError if it is of another table by now."""

    def clear(self) -> None:
        """Forget all rows; no listener hears of it."""

    def listen(self, listener: TableListener) -> None:
        """Call `listener` with each change from now on."""


def change_of(table: StoredTable, key: Hashable, row: Row | None) -> Row:
    return (list(map(exact, key)) if isinstance(key, tuple) else key), exact_row(table, row)


def exact_row(table: StoredTable, row: Row | None) -> dict[str, Any] | None:
    """Return its values by column, for a message."""
    if row is None:
        return None
    return {name: exact(value) for (name, _), value in zip(table.columns, row, strict=True)}


def exact(value: Any) -> Any:
    """Return what JSON does not have as a text, from which `typed` makes the same value again: decimals with all their
    digits, and numbers that are not finite."""
    if isinstance(value, Decimal):
        return str(value)
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


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


def fill(table: StoredRows, stored: StoredTable, values: Row) -> None:
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


def has_stored(tables: Iterable[StoredTable], parts: CarriedParts | None) -> bool:
    """Return whether an app that took over has all that is stored of its tables. `parts`: None if it began empty."""
    return {one.table for one in tables} <= set(() if parts is None else parts.names)


def kept_values(table: StoredTable, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[tuple[Any, ...]]:
    """Return the values of rows with their numbers, by column: what a table of the region's own is filled with."""
    return ((number, *(row.get(name) for name, _ in table.columns)) for number, row in rows)


_DECIMAL = "decimal"


class StoredBuckets:
    """The buckets of a stored aggregation as rows of a stored table, with the columns of `BUCKET_COLUMNS`
    (`cep.apps.hosts.app_outside`). Read back they are to the last digit what they were: a content is JSON as Python
    writes it, with all digits of a float, and numbers that are none."""

    def __init__(self, plan: AggregationPlan, aggregation: Aggregation) -> None:
        self._plan, self._aggregation = plan, aggregation
        self._zone = "UTC" if plan.terms.zone is None else plan.terms.zone.key

    def listen(self, listener: TableListener) -> None:
        """Call `listener` with each change from now on."""

        def changed(key: BucketKey, bucket: Bucket | None) -> None:
            duration, start, group = key
            stored_key = duration, start, _content_text(group)
            listener(stored_key, None if bucket is None else (*stored_key, self._content(bucket)))

        self._aggregation.listen(changed)

    def clear(self) -> None:
        self._aggregation.clear()

    def fill(self, row: Row, _number: int) -> None:
        """Fill in a bucket that was there before. Raises ValueError if it is of another zone, or of other
        aggregators."""
        duration, start, group, content = row
        try:
            zone, aggregated, width, state = _content_in(content)
        except (ValueError, TypeError) as error:
            raise ValueError("kept in a form that this version does not read") from error
        if (zone, tuple(aggregated), width) != (self._zone, self._plan.aggregated, self._plan.width):
            was = f"with {', '.join(aggregated) or 'no aggregator'} over {width} columns in the zone {zone}"
            raise ValueError(f"kept {was}, and is another by now: give it another collection")
        number, last, at, time, of_aggregators = state
        self._aggregation.fill(
            (duration, start, _group_of(_content_in(group))), (number, tuple(last), at, time, of_aggregators)
        )

    def _content(self, bucket: Bucket) -> str:
        return _content_text((self._zone, self._plan.aggregated, self._plan.width, bucket.state()))


def _content_text(value: object) -> str:
    return json.dumps(value, default=_plain_decimal, separators=(",", ":"))


def _plain_decimal(value: object) -> object:
    if isinstance(value, Decimal):
        return {_DECIMAL: str(value)}
    raise TypeError(f"{value!r} is not kept")


def _content_in(text: str) -> Any:
    return json.loads(text, object_hook=lambda found: _TYPED["decimal"](found[_DECIMAL]))


def _group_of(group: Any) -> Hashable:
    """Return a group as the aggregation has it: of several columns a tuple."""
    return tuple(group) if isinstance(group, list) else group
