"""Rows of a tick set that is being built, put aside by day until all are there."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tick_sets.rows.arrow_columns import Coded, Integers, taken, with_column
from tick_sets.sets.schema import SOURCE_SCHEMA

FILE_BYTES = 8_000_000
"""Rows collected before they are written, so that thousands of small tables do not become thousands of files."""

_WORDS = tuple(field.name for field in SOURCE_SCHEMA if pa.types.is_dictionary(field.type))
_SPOOL_SCHEMA = pa.schema(
    [pa.field(field.name, pa.int32() if field.name in _WORDS else field.type) for field in SOURCE_SCHEMA]
)
"""Words as numbers, whose meaning stays in memory: there are few."""


class DaySpool:
    """Files of tables that were added, with a batch for each of their days; a file goes once its days were taken."""

    def __init__(self, folder: Path, file_bytes: int = FILE_BYTES) -> None:
        """Take `folder`: new, and gone after `tables`."""
        self._file_bytes = file_bytes
        self._folder = folder
        folder.mkdir(parents=True)
        self._numbers: dict[str, dict[str, int]] = {name: {} for name in _WORDS}
        """Column → word → its number."""
        self._places: dict[int, list[tuple[Path, int]]] = {}
        """Day → file and number of the batch."""
        self._rows: Counter[int] = Counter()
        self._left: Counter[Path] = Counter()
        """File → how many of its batches were not taken yet."""
        self._waiting: list[tuple[pa.Table, Integers]] = []
        self._waiting_bytes = 0

    def add(self, rows: pa.Table, days: Integers) -> None:
        """Add `rows` of SOURCE_SCHEMA in their source's order, with `days` since 1970 of each."""
        if not len(days):
            return
        table = self._numbered(rows.cast(SOURCE_SCHEMA))
        self._waiting.append((table, days))
        self._waiting_bytes += table.nbytes
        if self._waiting_bytes >= self._file_bytes:
            self._write()

    def _numbered(self, rows: pa.Table) -> pa.Table:
        """Return the rows with numbers in place of words."""
        for name in _WORDS:
            chunks: list[Any] = rows[name].chunks
            parts = [self._part_numbered(name, part) for part in chunks]
            rows = with_column(rows, name, pa.chunked_array(parts, pa.int32()))
        return rows

    def _part_numbered(self, name: str, part: "Coded") -> "pa.Int32Array":
        known = self._numbers[name]
        numbers = [known.setdefault(str(word), len(known)) for word in part.dictionary.to_pylist()]
        return pa.array(numbers, pa.int32()).take(part.indices)

    def _write(self) -> None:
        """Write what waits as one file."""
        if not self._waiting:
            return
        rows = pa.concat_tables([table for table, _ in self._waiting])
        days = np.concatenate([some for _, some in self._waiting])
        self._waiting, self._waiting_bytes = [], 0
        if (np.diff(days) < 0).any():
            order = np.argsort(days, kind="stable")
            rows, days = taken(rows, order), days[order]
        starts = np.flatnonzero(np.diff(days, prepend=days[:1] - 1)).tolist()
        path = self._folder / f"{len(self._left):08}.arrow"
        whole = rows.combine_chunks()
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, _SPOOL_SCHEMA) as writer:
            for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(days)], strict=True)):
                writer.write_table(whole.slice(start, end - start), max_chunksize=len(days))
                day = int(days[start])
                self._places.setdefault(day, []).append((path, number))
                self._rows[day] += end - start
                self._left[path] += 1

    def tables(self, most_rows: int) -> Iterator[tuple[int, pa.Table]]:
        """Return (first day, rows) in the order of days: days of few rows together, up to so many; one with more
        alone."""
        self._write()
        group: list[int] = []
        rows = 0
        for day in sorted(self._places):
            if group and rows + self._rows[day] > most_rows:
                yield group[0], self._taken(group)
                group, rows = [], 0
            group.append(day)
            rows += self._rows[day]
        if group:
            yield group[0], self._taken(group)
        self._folder.rmdir()

    def _taken(self, days: list[int]) -> pa.Table:
        """Return the rows of these days in the order in which they were added; one file is open at a time."""
        numbers: dict[Path, list[int]] = {}
        for path, number in (place for day in days for place in self._places.pop(day)):
            numbers.setdefault(path, []).append(number)
        batches: list[pa.RecordBatch] = []
        for path in sorted(numbers):
            # what was mapped stays readable when its file is closed, and gone
            with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as file:
                batches += [file.get_batch(number) for number in numbers[path]]
            self._left[path] -= len(numbers[path])
            if not self._left[path]:
                path.unlink()
        return self._named(pa.Table.from_batches(batches, _SPOOL_SCHEMA))

    def _named(self, rows: pa.Table) -> pa.Table:
        """Return the rows with words in place of numbers."""
        for name in _WORDS:
            words = pa.array(list(self._numbers[name]), pa.string())
            parts = [pa.DictionaryArray.from_arrays(part, words) for part in rows[name].chunks]
            rows = with_column(rows, name, pa.chunked_array(parts, SOURCE_SCHEMA.field(name).type))
        return rows
