"""The files of a recorded log while it is being recorded: rows of `ticks` and `opportunities` as they stand in Kafka.

`<home>/recordings/<session>/log/raw/<topic>-000001.parquet`, `-000002`, …: each is complete or missing, so a killed
recorder continues after the last one.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streams.records import Position, Record
from tick_sets.errors import reject

_COLUMNS: list["pa.Field[Any]"] = [
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    # when it was produced, microseconds
    pa.field("time", pa.int64()),
    pa.field("value", pa.binary()),
]
ROW_SCHEMA = pa.schema(_COLUMNS)
_NAME = re.compile(r"-(\d{6})\.parquet$")


class LogParts:
    """The files in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, topic: str) -> list[Path]:
        """Return the files of `topic` in the order in which they were written."""
        return sorted(path for path in self.folder.glob(f"{topic}-*.parquet") if _NAME.search(path.name))

    def write(self, topic: str, rows: Sequence[Record]) -> None:
        """Write the next file; it gets its name only once it is complete. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        found = self.of(topic)
        number = int(found[-1].stem[-6:]) + 1 if found else 1
        path = self.folder / f"{topic}-{number:06}.parquet"
        scratch = path.with_suffix(".new")
        pq.write_table(_table(rows), scratch, compression="zstd")
        scratch.chmod(0o600)
        scratch.replace(path)

    def last_positions(self, topic: str) -> dict[Position, tuple[int, int]]:
        """Return partition → (offset, time) of its last row in a whole file."""
        last: dict[Position, tuple[int, int]] = {}
        for table in self.tables(topic, ["partition", "offset", "time"]):
            columns = (table[name].to_pylist() for name in ("partition", "offset", "time"))
            for partition, offset, time in zip(*columns, strict=True):
                last[topic, partition] = (offset, time)
        return last

    def rows(self, topic: str) -> Iterator[tuple[int, int, int, bytes]]:
        """Return (partition, offset, time, value), in the order of each partition. Raises ImportRejectedError."""
        for table in self.tables(topic):
            columns = (table[name].to_pylist() for name in ROW_SCHEMA.names)
            yield from zip(*columns, strict=True)

    def tables(self, topic: str, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Return the tables, file by file. Raises ImportRejectedError."""
        for path in self.of(topic):
            try:
                yield pq.read_table(path, columns=columns, use_threads=False)
            except (OSError, pa.ArrowInvalid) as error:
                reject(path, None, f"cannot be read as a part of a recorded log ({error})")


def _table(rows: Sequence[Record]) -> pa.Table:
    columns: list[list[object]] = [
        [row.partition for row in rows],
        [row.offset for row in rows],
        [row.time for row in rows],
        [row.value for row in rows],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, ROW_SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=ROW_SCHEMA)
