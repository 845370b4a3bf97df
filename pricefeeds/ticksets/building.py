"""Builds a tick set from rows of any sources: spooled by day, put into the order of the log, numbered, written.

Nothing is seen of a set before it is whole: it is built in a hidden folder beside its place and renamed at the end.
"""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from market.clock import MICROSECONDS
from pricefeeds.ticksets.manifest import Manifest, Partition, write_manifest
from pricefeeds.ticksets.partition import PartitionWriter
from pricefeeds.ticksets.schema import SOURCE_SCHEMA, TICK_SCHEMA

DAY = 86_400 * MICROSECONDS


@dataclass(slots=True)
class _Numbering:
    """The next offset of each base, and the next rank of a row whose source numbers nothing."""

    offsets: dict[str, int] = field(default_factory=dict)
    rank: int = 1


class TickSetBuilder:
    """Use as a context: what was added is gone where it is left before `finish`.

    `bases`: those that a row for every base is written for. Memory: the rows of one day.
    """

    def __init__(self, folder: Path, bases: tuple[str, ...]) -> None:
        self.folder = folder
        self._bases = bases
        self._work = folder.parent / f".{folder.name}.building"
        self._numbers = count()
        self._numbering = _Numbering()
        self._latest = 0
        """The latest time of rows that came with an offset."""
        self._writers: dict[str, PartitionWriter] = {}

    def __enter__(self) -> "TickSetBuilder":
        shutil.rmtree(self._work, ignore_errors=True)
        (self._work / "spool").mkdir(parents=True)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._work, ignore_errors=True)

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Rows of SOURCE_SCHEMA in their source's order. Rows that have an offset come in its order, base by base."""
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
        days = self._days(table)
        for day in np.unique(days):
            mine = table.filter(pa.array(days == day))
            path = self._work / "spool" / f"{day:08}-{next(self._numbers):08}.arrow"
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, SOURCE_SCHEMA) as writer:
                writer.write_table(mine.cast(SOURCE_SCHEMA))

    def _days(self, rows: pa.Table) -> npt.NDArray[np.int64]:
        """By the time of each row; a log keeps its order even where a row's time lies before the last one's."""
        times = rows["received_time"].to_numpy()
        if len(rows) == 0 or rows["offset"].null_count:
            return times // DAY
        latest = np.maximum.accumulate(np.maximum(times, self._latest))
        self._latest = int(latest[-1])
        return latest // DAY

    def finish(self, manifest: Manifest) -> Manifest:
        """Write the set and put it in its place, whole; `manifest` with its partitions."""
        partitions: list[Partition] = []
        spool = self._work / "spool"
        for day in sorted({path.name[:8] for path in spool.iterdir()}):
            paths = sorted(spool.glob(f"{day}-*"))
            rows = pa.concat_tables([_spooled(path) for path in paths])
            partitions += self._write_day(int(day), rows)
            for path in paths:
                path.unlink()
        whole = replace(manifest, partitions=tuple(partitions))
        spool.rmdir()
        write_manifest(self._work, whole)
        self._put_in_place()
        return whole

    def _put_in_place(self) -> None:
        """A set of the same name goes only once the new one is whole."""
        old = self.folder.with_name(f".{self.folder.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        if self.folder.exists():
            self.folder.rename(old)
        self._work.rename(self.folder)
        shutil.rmtree(old, ignore_errors=True)

    def _write_day(self, day: int, rows: pa.Table) -> Iterable[Partition]:
        ordered = rows.take(_order(rows))
        ordered = self._with_sequences(ordered)
        name = datetime.fromtimestamp(day * 86_400, UTC).date().isoformat()
        for base in self._bases:
            mine = ordered.filter(_is_for(base, ordered))
            if len(mine) == 0:
                continue
            mine = self._with_offsets(base, mine).select(TICK_SCHEMA.names).cast(TICK_SCHEMA)
            writer = self._writers.setdefault(base, PartitionWriter(self._work))
            yield writer.write(name, base, mine)

    def _with_sequences(self, rows: pa.Table) -> pa.Table:
        """Rows that their source did not number get their rank over the whole set, from 1."""
        ranks = np.arange(self._numbering.rank, self._numbering.rank + len(rows), dtype=np.int64)
        self._numbering.rank += len(rows)
        told = _numbers(rows["sequence"])
        sequences = pa.array(np.where(told == 0, ranks, told))
        return rows.set_column(rows.column_names.index("sequence"), SOURCE_SCHEMA.field("sequence"), sequences)

    def _with_offsets(self, base: str, rows: pa.Table) -> pa.Table:
        first = self._numbering.offsets.get(base, 0)
        self._numbering.offsets[base] = first + len(rows)
        if rows["offset"].null_count == 0:
            return rows
        offsets = pa.array(np.arange(first, first + len(rows), dtype=np.int64))
        return rows.set_column(rows.column_names.index("offset"), SOURCE_SCHEMA.field("offset"), offsets)


def _spooled(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def _is_for(base: str, rows: pa.Table) -> npt.NDArray[np.bool_]:
    """A row without a base is for every one."""
    column = rows["base"]
    fits: npt.NDArray[np.bool_] = pc.is_in(column, pa.array([base, None], pa.string())).to_numpy()
    return fits


def _numbers(column: "pa.ChunkedArray[Any]") -> npt.NDArray[np.int64]:
    """Null as 0."""
    numbers: npt.NDArray[np.int64] = column.fill_null(pa.scalar(0, pa.int64())).to_numpy()
    return numbers


def _order(rows: pa.Table) -> npt.NDArray[np.int64]:
    """By offset where the rows have one, else by time, rank of the source and place in it."""
    if rows["offset"].null_count == 0:
        return np.argsort(rows["offset"].to_numpy(), kind="stable")
    times, ranks = rows["received_time"].to_numpy(), rows["rank"].to_numpy()
    return np.lexsort((ranks, times))
