"""Reads CSV files, and Parquet files of the same columns, into columns of strings.

Nothing is guessed: a cell stays a string until its number is read (`number_cells`).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from tick_sets.errors import reject
from tick_sets.rows.file_blocks import Block, blocks_behind, start_of
from tick_sets.rows.import_format import RejectedRow
from tick_sets.rows.parquet_columns import is_parquet, parquet_parts

UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class FilePart:
    """Some rows of a file: `cells` are all strings, `lines` are their line or row numbers in the file."""

    cells: pa.Table
    lines: npt.NDArray[np.int64]
    rejected: tuple[RejectedRow, ...]
    """Rows of another form, such as those with more or fewer columns than the file has."""


@dataclass(slots=True)
class _BadLines:
    """Lines with another number of columns."""

    first_line: int
    found: list[RejectedRow] = field(default_factory=list)

    def __call__(self, row: pacsv.InvalidRow) -> Literal["skip"]:
        self.found.append(RejectedRow(self.first_line + (row.number or 1) - 1, UNREADABLE, row.text))
        return "skip"


def csv_parts(
    path: Path, columns: tuple[str, ...] | None = None, delimiter: str = ",", skip_lines: int = 0
) -> Iterator[FilePart]:
    """Return the parts of the file. `columns`: the names, if the file has no header; Parquet uses its own names.
    `skip_lines`: lines before it. Raises ImportRejectedError, also if there is only a header."""
    is_empty, is_table = True, is_parquet(start_of(path))
    for part in _parquet_parts(path, columns) if is_table else _text_parts(path, columns, delimiter, skip_lines):
        is_empty = False
        yield part
    if is_empty:
        reject(path, None, "contains no rows")


def _parquet_parts(path: Path, columns: tuple[str, ...] | None) -> Iterator[FilePart]:
    for cells, lines in parquet_parts(path):
        names = distinct_names(cells.column_names)
        demand_columns(path, names, columns or ())
        yield FilePart(cells.rename_columns(names), lines, ())


def _text_parts(path: Path, columns: tuple[str, ...] | None, delimiter: str, skip_lines: int) -> Iterator[FilePart]:
    names = list(columns) if columns else None
    for block in blocks_behind(path, skip_lines):
        if b"\0" in block.data:
            line = block.line + block.data.count(b"\n", 0, block.data.index(b"\0"))
            reason = "it has NUL bytes; if it is UTF-16 without its mark at the start, save it as UTF-8"
            reject(path, line, f"is not plain CSV text ({reason})")
        if names is None:
            header, _, rest = block.data.partition(b"\n")
            names = distinct_names(header_names(header, delimiter))
            block = Block(block.line + 1, rest)  # noqa: PLW2901 - the same block without its header
        if block.data and not block.data.isspace():
            yield _part(path, block, names, delimiter)


def distinct_names(names: list[str]) -> list[str]:
    """Return `names`, a repeated one with its number, because tables know a column by its name."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else _again(name, seen[name]))
    return found


def _again(name: str, number: int) -> str:
    return f"{name} ({number})"


def header_names(line: bytes, delimiter: str = ",") -> list[str]:
    text = line.decode("utf-8-sig", errors="replace").strip()
    return [name.strip().strip('"') for name in text.split(delimiter)]


def demand_columns(path: Path, names: list[str], wanted: tuple[str, ...]) -> None:
    """Raise ImportRejectedError for the first of `wanted` that is not there."""
    for name in wanted:
        if name not in names:
            reject(path, 1, f"lacks the column {name}; it has {', '.join(names)[:200]}")
        if _again(name, 2) in names:
            reject(path, 1, f"has several columns {name}, and nothing says which one is meant; rename the others")


def _part(path: Path, block: Block, names: list[str], delimiter: str) -> FilePart:
    rejected_rows = _BadLines(block.line)
    try:
        # before the parser meets it: if it hands over a line that is no text, the error is lost
        if not block.data.isascii():
            block.data.decode()
        cells = pacsv.read_csv(
            pa.BufferReader(block.data),  # type: ignore[arg-type]  # the stub lacks Arrow's own readers
            read_options=pacsv.ReadOptions(use_threads=False, column_names=names, block_size=max(len(block.data), 1)),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter, ignore_empty_lines=False, invalid_row_handler=rejected_rows
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, check_utf8=False
            ),
        )
    except UnicodeDecodeError as error:
        line = block.line + block.data.count(b"\n", 0, error.start)
        reject(path, line, "is not plain CSV text (its bytes are no UTF-8)")
    except pa.ArrowInvalid as error:
        reject(path, block.line, f"is not plain CSV text ({str(error).splitlines()[0][:120]})")
    lines = _lines(block.line, cells.num_rows, rejected_rows.found)
    cells, lines = _without_blank_lines(cells, lines)
    rejected = tuple(row for row in rejected_rows.found if row.text.strip())
    return FilePart(cells, lines, rejected)


def _without_blank_lines(cells: pa.Table, lines: npt.NDArray[np.int64]) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Return the rows without those of empty lines, which are read as rows of empty cells."""
    is_filled = np.zeros(cells.num_rows, dtype=np.bool_)
    for column in cells.columns:
        is_filled |= pc.binary_length(column).to_numpy() > 0
        # most files have something in every cell of their first column
        if is_filled.all():
            return cells, lines
    return cells.filter(pa.array(is_filled)), lines[is_filled]


def _lines(first: int, rows: int, rejected_rows: list[RejectedRow]) -> npt.NDArray[np.int64]:
    every = np.arange(first, first + rows + len(rejected_rows), dtype=np.int64)
    if rejected_rows:
        every = np.delete(every, [row.line - first for row in rejected_rows])
    return every
