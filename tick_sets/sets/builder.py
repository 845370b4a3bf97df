"""Builds a tick set from rows of any sources: spooled by day, put into the order of the log, numbered, written.

A set is invisible until it is complete: it is built in a hidden folder beside its place and renamed at the end.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from market.time_units import MICROSECONDS
from tick_sets.rows.arrow_columns import Coded, Integers, coded, integers_of, nulls, with_column
from tick_sets.rows.import_format import RejectedRow
from tick_sets.rows.text_bytes import whole
from tick_sets.sets.day_spool import DaySpool
from tick_sets.sets.manifest import REJECTED, Manifest, Partition, write_manifest
from tick_sets.sets.partition_writer import PartitionWriter
from tick_sets.sets.place import put_in_place, set_lock, work_folder
from tick_sets.sets.schema import ROW_GROUP_ROWS, TICK_SCHEMA

DAY = 86_400 * MICROSECONDS


@dataclass(slots=True)
class _Numbering:
    """The next offset of each base, and the next rank of a row whose source numbers nothing."""

    offsets: dict[str, int] = field(default_factory=dict)
    rank: int = 1


class TickSetBuilder:
    """Use as a context: what was added is discarded if the context is left before `finish`, and the old set stays.

    `bases`: those that a row for every base is written for; those of the manifest's markets by default.
    Memory: the rows of one base on one day, or of one row group on several, and 24 bytes for each other row of them.
    """

    def __init__(self, folder: Path, bases: tuple[str, ...] = (), part_rows: int = ROW_GROUP_ROWS) -> None:
        """Take the set's folder; `part_rows`: so many rows of consecutive days, of all bases, are written together."""
        self._part_rows = part_rows
        self.folder = folder
        self._bases = bases
        self._work = work_folder(folder)
        self._locks = ExitStack()
        self._numbering = _Numbering()
        self._latest = 0
        """The latest time of rows that came with an offset."""
        self._writers: dict[str, PartitionWriter] = {}

    def __enter__(self) -> "TickSetBuilder":
        """Lock the set. Raises ImportRejectedError if another process builds it."""
        self._locks.enter_context(set_lock(self.folder))
        self._spool = DaySpool(self._work / "spool")
        return self

    def __exit__(self, *_: object) -> None:
        self._locks.close()

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add rows of SOURCE_SCHEMA in their source's order. Rows that have an offset come in its order, base by
        base."""
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
        self._spool.add(table, self._days(table))

    def _days(self, rows: pa.Table) -> Integers:
        """Return the day of each row by its time; a log keeps its order even if a row's time is before the last
        one's."""
        times = rows["received_time"].to_numpy()
        if len(rows) == 0 or rows["offset"].null_count:
            return times // DAY
        latest = np.maximum.accumulate(np.maximum(times, self._latest))
        self._latest = int(latest[-1])
        return latest // DAY

    def add_rejected(self, source: str, rows: Iterable[RejectedRow]) -> None:
        """Write rows of the file or log `source` that are no usable quotes to the set's `rejected.jsonl`."""
        with (self._work / REJECTED).open("ab") as file:
            for row in rows:
                file.write(orjson.dumps({"source": source, **row._asdict()}) + b"\n")

    def keep_rejected(self, path: Path, without: Collection[str] = ()) -> None:
        """Copy another set's `rejected.jsonl`, except rows of the files `without`; nothing if it has none."""
        if not path.is_file():
            return
        with path.open("rb") as lines, (self._work / REJECTED).open("wb") as file:
            file.writelines(line for line in lines if not without or orjson.loads(line)["source"] not in without)

    def finish(self, manifest: Manifest, ranks: Sequence[int] = ()) -> Manifest:
        """Write the set and put it in its place, whole; `manifest` with its partitions.

        `ranks`: what the rank that a row was added with stands for, if that is known only now.
        """
        partitions: list[Partition] = []
        bases = self._bases or manifest.bases
        for day, rows in self._spool.tables(self._part_rows):
            partitions += self._write_days(day, rows, bases, ranks)
        whole = replace(manifest, partitions=tuple(partitions))
        write_manifest(self._work, whole)
        put_in_place(self.folder)
        return whole

    def _write_days(
        self, day: int, rows: pa.Table, bases: tuple[str, ...], ranks: Sequence[int]
    ) -> Iterator[Partition]:
        order = _order(rows, ranks)
        rows = self._with_sequences(rows, order)
        codes, names = coded(rows, "base")
        name = datetime.fromtimestamp(day * 86_400, UTC).date().isoformat()
        for base in bases:
            # a row without a base is for every one
            is_for = np.array([own in (base, "") for own in names], dtype=np.bool_)[codes]
            mine = order if is_for.all() else order[is_for[order]]
            if len(mine) == 0:
                continue
            log = self._with_offsets(base, _log_rows(rows, mine))
            writer = self._writers.setdefault(base, PartitionWriter(self._work))
            yield writer.write(name, base, log)

    def _with_sequences(self, rows: pa.Table, order: Integers) -> pa.Table:
        """Give the rows that their source did not number their rank over the whole set, from 1."""
        ranks = np.empty(len(rows), dtype=np.int64)
        ranks[order] = np.arange(self._numbering.rank, self._numbering.rank + len(rows))
        self._numbering.rank += len(rows)
        numbered = integers_of(rows, "sequence")
        return with_column(rows, "sequence", pa.array(np.where(numbered == 0, ranks, numbered)))

    def _with_offsets(self, base: str, rows: pa.Table) -> pa.Table:
        first = self._numbering.offsets.get(base, 0)
        self._numbering.offsets[base] = first + len(rows)
        if rows["offset"].null_count == 0:
            return rows
        return with_column(rows, "offset", pa.array(np.arange(first, first + len(rows), dtype=np.int64)))


def _log_rows(rows: pa.Table, places: Integers) -> pa.Table:
    """Return the rows at these places, TICK_SCHEMA; those of a log that is in order already are not copied."""
    is_in_order = len(places) == len(rows) and bool((places == np.arange(len(rows))).all())
    indices = pa.array(places)
    columns: list[Any] = []
    for one in TICK_SCHEMA:
        column: Any = rows[one.name]
        if column.null_count == len(rows):
            columns.append(nulls(len(places), one.type))
            continue
        mine = column if is_in_order else column.take(indices)
        columns.append(_with_own_words(mine) if pa.types.is_dictionary(one.type) else mine)
    return pa.Table.from_arrays(columns, schema=TICK_SCHEMA)


def _with_own_words(column: "pa.ChunkedArray[Any]") -> "Coded":
    """Return a column of words without those that stand in none of its rows."""
    words: Any = whole(column)
    codes = words.indices.drop_null().to_numpy()
    used = np.flatnonzero(np.bincount(codes)).astype(np.int32)
    if len(used) == len(words.dictionary):
        return words  # type: ignore[no-any-return]  # a column of words is a dictionary array
    numbers = np.zeros(len(words.dictionary), dtype=np.int32)
    numbers[used] = np.arange(len(used), dtype=np.int32)
    own: Any = pa.array(numbers)
    own = own.take(words.indices)
    return pa.DictionaryArray.from_arrays(own, words.dictionary.take(pa.array(used)))


def _order(rows: pa.Table, ranks: Sequence[int]) -> Integers:
    """Return the order: by offset if the rows have one, else by time, rank of the source and place in it."""
    if rows["offset"].null_count == 0:
        return np.argsort(rows["offset"].to_numpy(), kind="stable")
    times, rank = rows["received_time"].to_numpy(), rows["rank"].to_numpy()
    own_ranks = np.asarray(ranks)[rank] if ranks else rank
    order = np.argsort(times, kind="stable")
    is_tied = np.diff(times[order]) == 0
    if (is_tied & (np.diff(own_ranks[order]) < 0)).any():
        return np.lexsort((own_ranks, times))
    return order
