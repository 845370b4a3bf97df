"""Makes a chunk of the columns that a format has found."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tick_sets.errors import reject
from tick_sets.rows.arrow_columns import nulls
from tick_sets.rows.csv_columns import FilePart, csv_parts
from tick_sets.rows.import_format import READ_SCHEMA, Chunk

Column = Any
"""An Arrow array or chunked array of the right type, a NumPy array, or one word that holds for all rows."""


def chunk_of_columns(part: FilePart, given: dict[str, Column], other_rows: int = 0) -> Chunk:
    """Return a chunk of `given`, columns of READ_SCHEMA by name except `line`; a column that is not given is null."""
    columns = {"line": part.lines} | given
    arrays = [_column(columns.get(field.name), field.type, part.cells.num_rows) for field in READ_SCHEMA]
    return Chunk(pa.Table.from_arrays(arrays, schema=READ_SCHEMA), part.cells, part.rejected, other_rows)


def chunk_of_market(part: FilePart, market: tuple[str, str], given: dict[str, Column]) -> Chunk:
    """Return a chunk whose rows are all of one market: (exchange, symbol)."""
    return chunk_of_columns(part, {"exchange": market[0], "symbol": market[1]} | given)


def _column(values: Column, kind: pa.DataType, rows: int) -> Column:
    if values is None:
        return nulls(rows, kind)
    if isinstance(values, str):
        return pa.repeat(values, rows)
    if isinstance(values, np.ndarray):
        return pa.array(values, kind)
    return values


def headerless_parts(
    path: Path, columns: tuple[str, ...], delimiter: str = ",", skip_lines: int = 0
) -> Iterator[FilePart]:
    """Return the parts of a CSV file without a header. Raises ImportRejectedError if its first lines have other
    columns."""
    for part in csv_parts(path, columns, delimiter, skip_lines):
        if not part.cells.num_rows:
            reject(path, None, f"has no line of {len(columns)} columns ({','.join(columns)})")
        yield part
