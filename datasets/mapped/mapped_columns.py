"""Columns that a format found, made a chunk."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from datasets.rows.csv_columns import CsvPart, csv_parts
from datasets.rows.import_format import READ_SCHEMA, Chunk, RejectedRow
from datasets.rows.quote_rows import reject

Column = Any
"""An Arrow array or chunked array of the right type, a NumPy array, or one word that holds for all rows."""


def chunk_of_columns(
    given: dict[str, Column], originals: pa.Table, rejected: tuple[RejectedRow, ...] = (), other_rows: int = 0
) -> Chunk:
    """`given`: columns of READ_SCHEMA by name; what is not given is null."""
    rows = originals.num_rows
    arrays = [_column(given.get(field.name), field.type, rows) for field in READ_SCHEMA]
    return Chunk(pa.Table.from_arrays(arrays, schema=READ_SCHEMA), originals, rejected, other_rows)


def _column(values: Column, kind: pa.DataType, rows: int) -> Column:
    if values is None or isinstance(values, str):
        return pa.array([values] * rows, kind)
    if isinstance(values, np.ndarray):
        return pa.array(values, kind)
    return values


def headerless_parts(path: Path, columns: tuple[str, ...], delimiter: str = ",") -> Iterator[CsvPart]:
    """Of a CSV file without a header. Raises ImportRejectedError where its first lines have other columns."""
    for part in csv_parts(path, columns, delimiter):
        if not part.cells.num_rows:
            reject(path, None, f"has no line of {len(columns)} columns ({','.join(columns)})")
        yield part
