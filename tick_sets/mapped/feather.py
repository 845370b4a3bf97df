"""Feather and Parquet files of one table: a double is written here as the shortest text that reads back the same."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from tick_sets.errors import reject
from tick_sets.rows.csv_columns import FilePart, demand_columns
from tick_sets.rows.parquet_columns import text_column

MAGIC = (b"ARROW1", b"FEA1")


def feather_rows(path: Path, columns: tuple[str, ...]) -> FilePart:
    """Return `columns` as strings, times as whole microseconds or as the numbers they are; rows are counted from 1.
    Raises ImportRejectedError."""
    try:
        if path.suffix == ".parquet":
            table = pq.read_table(path, use_threads=False)
        else:
            table = feather.read_table(path, memory_map=False)
    except pa.ArrowInvalid as error:
        kind = path.suffix.removeprefix(".")
        reject(path, None, f"is not a valid {kind} file; it is damaged or was cut off ({str(error)[:120]})")
    except OSError as error:
        reject(path, None, f"cannot be read ({error.strerror or error})")
    demand_columns(path, table.column_names, columns)
    if not table.num_rows:
        reject(path, None, "contains no rows")
    cells = [text_column(path, name, table[name]) for name in columns]
    return FilePart(pa.Table.from_arrays(cells, names=list(columns)), np.arange(1, table.num_rows + 1), ())
