"""Rows of a tick set that is being built, put aside by day until all are there."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from datasets.rows.arrow_columns import Integers, taken
from datasets.ticksets.tick_set_schema import SOURCE_SCHEMA


class DaySpool:
    """A file for each table that is added, with a batch for each of its days; a file goes once its days were taken."""

    def __init__(self, folder: Path) -> None:
        """`folder`: new, and gone after `tables`."""
        self._folder = folder
        folder.mkdir(parents=True)
        self._places: dict[int, list[tuple[Path, int]]] = {}
        """Day → file and number of the batch."""
        self._rows: Counter[int] = Counter()
        self._left: Counter[Path] = Counter()
        """File → how many of its batches were not taken yet."""

    def add(self, rows: pa.Table, days: Integers) -> None:
        """`rows` of SOURCE_SCHEMA in their source's order, `days` since 1970 of each."""
        if not len(days):
            return
        if (np.diff(days) < 0).any():
            order = np.argsort(days, kind="stable")
            rows, days = taken(rows, order), days[order]
        starts = np.flatnonzero(np.diff(days, prepend=days[:1] - 1)).tolist()
        path = self._folder / f"{len(self._left):08}.arrow"
        whole = rows.cast(SOURCE_SCHEMA).combine_chunks()
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, SOURCE_SCHEMA) as writer:
            for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(days)], strict=True)):
                writer.write_table(whole.slice(start, end - start), max_chunksize=len(days))
                day = int(days[start])
                self._places.setdefault(day, []).append((path, number))
                self._rows[day] += end - start
                self._left[path] += 1

    def tables(self, most_rows: int) -> Iterator[tuple[int, pa.Table]]:
        """(first day, rows) in the order of days: days of few rows together, up to so many; one with more alone."""
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
        batches = []
        files: dict[Path, pa.ipc.RecordBatchFileReader] = {}
        for path, number in (place for day in days for place in self._places.pop(day)):
            if path not in files:
                files[path] = pa.ipc.open_file(pa.memory_map(str(path)))
            batches.append(files[path].get_batch(number))
            self._left[path] -= 1
            if not self._left[path]:
                # what was mapped stays readable
                path.unlink()
        return pa.Table.from_batches(batches, SOURCE_SCHEMA)
