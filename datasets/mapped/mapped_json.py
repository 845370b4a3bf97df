"""JSON files that hold one list of rows: each number keeps its text."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from datasets.rows.csv_columns import UNREADABLE, FilePart
from datasets.rows.import_format import RejectedRow
from datasets.rows.packed_files import opened
from datasets.rows.quote_rows import reject


def json_rows(path: Path, columns: tuple[str, ...]) -> FilePart:
    """`columns` as strings; rows are counted from 1. Raises ImportRejectedError.

    Memory: the whole file; such files hold bars, or prints of one download.
    """
    whole, numbers, rejected = [], [], []
    for number, row in enumerate(_list_of(path, columns), start=1):
        if isinstance(row, list) and len(row) == len(columns):
            whole.append(["" if cell is None else str(cell) for cell in row])
            numbers.append(number)
        else:
            rejected.append(RejectedRow(number, UNREADABLE, json.dumps(row)))
    if not whole:
        reject(path, None, f"has no row [{', '.join(columns)}]")
    cells = [pa.array(column, pa.string()) for column in zip(*whole, strict=True)]
    return FilePart(pa.Table.from_arrays(cells, names=list(columns)), np.array(numbers, np.int64), tuple(rejected))


def _list_of(path: Path, columns: tuple[str, ...]) -> list[Any]:
    with opened(path) as file:
        data = file.read()
    if not data.strip():
        reject(path, None, "is empty")
    try:
        rows = json.loads(data, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        reject(path, None, "is not whole JSON; it is damaged or was cut off")
    if not isinstance(rows, list) or not rows:
        reject(path, None, f"is not a list of rows [{', '.join(columns)}]")
    return rows
