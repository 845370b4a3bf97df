"""Parquet files, and columns that have types, as the columns of strings that a CSV file has."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tick_sets.errors import reject

MAGIC = b"PAR1"
BATCH_ROWS = 65_536
_WHOLE = 2.0**53
"""Doubles below are whole if they have no fraction."""


def is_parquet(start: bytes) -> bool:
    return start.startswith(MAGIC)


def parquet_parts(path: Path) -> Iterator[tuple[pa.Table, npt.NDArray[np.int64]]]:
    """Return columns of strings, and each row's number from 1. Raises ImportRejectedError."""
    number = 1
    with _opened(path) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS, use_threads=False):
            table = pa.Table.from_batches([batch])
            cells = [text_column(path, name, table.column(place)) for place, name in enumerate(table.column_names)]
            yield (
                pa.Table.from_arrays(cells, names=table.column_names),
                np.arange(number, number + len(table), dtype=np.int64),
            )
            number += len(table)


def parquet_head(path: Path) -> bytes:
    """Return its names as the first line of a CSV file would have them. Raises ImportRejectedError."""
    with _opened(path) as file:
        return ",".join(file.schema_arrow.names).encode() + b"\n"


def text_column(path: Path, name: str, column: Any) -> Any:
    """Return the column as text: null as "", times as microseconds UTC, doubles as the shortest text that is the same
    double. Raises ImportRejectedError for a column of lists or the like."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_nested(kind):
        reject(path, None, f"has lists or the like in its column {name}, of which no cell can be made")
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    elif pa.types.is_floating(kind):
        column = _whole_where_all_are(column)
    return column.cast(pa.string()).fill_null(pa.scalar("", pa.string()))


def _whole_where_all_are(column: Any) -> Any:
    """Return ids or times as whole numbers again if pandas made them doubles, as it does if one is missing."""
    column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    known = column.drop_null()
    is_small = pc.less(pc.abs(known), pa.scalar(_WHOLE, column.type))
    if len(known) and pc.all(pc.and_(pc.equal(known, pc.floor(known)), is_small)).as_py():
        return column.cast(pa.int64())
    return column


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except pa.ArrowException as error:
        words = str(error).splitlines()[0][:120] if str(error) else "nothing more is known"
        reject(path, None, f"is not a valid Parquet file; it is damaged or was cut off ({words})")
    except OSError as error:
        reject(path, None, f"cannot be read as Parquet ({str(error)[:120]})")
