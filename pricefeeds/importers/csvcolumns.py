"""Reads CSV files into columns of strings, block by block, and columns of strings into numbers.

Nothing is guessed: a cell stays the string it is until somebody asks for its number, and a cell that is none becomes
null, for which its row is then rejected.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from pricefeeds.importers.arrowcolumns import plain_numbers
from pricefeeds.importers.fileblocks import Block, blocks
from pricefeeds.importers.format import RejectedRow
from pricefeeds.importers.rows import refuse

UNREADABLE = "unreadable"
DECIMAL = r"^[0-9]+(\.[0-9]+)?$"
"""Of a price or an amount, as exchanges write them; all else (nan, 1e5, -1, "") is unreadable as a number."""


@dataclass(frozen=True, slots=True)
class CsvPart:
    """So many rows: `cells` all of strings, `lines` where they stand in the file."""

    cells: pa.Table
    lines: npt.NDArray[np.int64]
    rejected: tuple[RejectedRow, ...]
    """Rows with more or fewer columns than the file has."""


@dataclass(slots=True)
class _Misfits:
    """Lines that have another number of columns."""

    first_line: int
    found: list[RejectedRow] = field(default_factory=list)

    def __call__(self, row: pacsv.InvalidRow) -> Literal["skip"]:
        self.found.append(RejectedRow(self.first_line + (row.number or 1) - 1, UNREADABLE, row.text))
        return "skip"


def csv_parts(path: Path, columns: tuple[str, ...] | None = None, delimiter: str = ",") -> Iterator[CsvPart]:
    """`columns`: the names, where the file has no header. Raises ImportRefusedError; a lone header is refused, too."""
    names = list(columns) if columns else None
    is_empty = True
    for block in blocks(path):
        if names is None:
            header, _, rest = block.data.partition(b"\n")
            names = header_names(header, delimiter)
            block = Block(block.line + 1, rest)  # noqa: PLW2901 - the same block without its header
        if block.data.strip():
            is_empty = False
            yield _part(path, block, names, delimiter)
    if is_empty:
        refuse(path, None, "holds no rows")


def header_names(line: bytes, delimiter: str = ",") -> list[str]:
    text = line.decode("utf-8-sig", errors="replace").strip()
    return [name.strip().strip('"') for name in text.split(delimiter)]


def demand_columns(path: Path, names: list[str], wanted: tuple[str, ...]) -> None:
    """Raises ImportRefusedError for the first that is not there."""
    for name in wanted:
        if name not in names:
            refuse(path, 1, f"lacks the column {name}; it has {', '.join(names)[:200]}")


def _part(path: Path, block: Block, names: list[str], delimiter: str) -> CsvPart:
    misfits = _Misfits(block.line)
    try:
        # before the parser meets it: where it hands over a line that is no text, the error is lost
        block.data.decode()
        cells = pacsv.read_csv(
            pa.BufferReader(block.data),  # type: ignore[arg-type]  # the stub lacks Arrow's own readers
            read_options=pacsv.ReadOptions(use_threads=False, column_names=names, block_size=max(len(block.data), 1)),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter, ignore_empty_lines=False, invalid_row_handler=misfits
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except UnicodeDecodeError as error:
        line = block.line + block.data.count(b"\n", 0, error.start)
        refuse(path, line, "is not plain CSV text (its bytes are no UTF-8)")
    except pa.ArrowInvalid as error:
        refuse(path, block.line, f"is not plain CSV text ({str(error).splitlines()[0][:120]})")
    lines = _lines(block.line, cells.num_rows, misfits.found)
    cells, lines = _without_blank_lines(cells, lines)
    rejected = tuple(row for row in misfits.found if row.text.strip())
    return CsvPart(cells, lines, rejected)


def _without_blank_lines(cells: pa.Table, lines: npt.NDArray[np.int64]) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """An empty line is read as a row of empty cells."""
    widths = [pc.binary_length(column).to_numpy() for column in cells.columns]
    is_filled = np.logical_or.reduce([width > 0 for width in widths])
    if is_filled.all():
        return cells, lines
    return cells.filter(pa.array(is_filled)), lines[is_filled]


def _lines(first: int, rows: int, misfits: list[RejectedRow]) -> npt.NDArray[np.int64]:
    every = np.arange(first, first + rows + len(misfits), dtype=np.int64)
    if misfits:
        every = np.delete(every, [row.line - first for row in misfits])
    return every


def whole_numbers(cells: "pa.ChunkedArray[Any]") -> "pa.ChunkedArray[Any]":
    """int64; null where a cell is no whole number of up to 18 digits."""
    cells = plain_numbers(cells)
    return _cast_where(cells, pc.match_substring_regex(cells, r"^-?[0-9]{1,18}$"), pa.int64())


def doubles(cells: "pa.ChunkedArray[Any]") -> "pa.ChunkedArray[Any]":
    """Null where a cell is no plain decimal number."""
    cells = plain_numbers(cells)
    return _cast_where(cells, pc.match_substring_regex(cells, DECIMAL), pa.float64())


def _cast_where(cells: "pa.ChunkedArray[Any]", is_one: Any, to: pa.DataType) -> "pa.ChunkedArray[Any]":
    if not pc.all(is_one).as_py():
        cells = pc.if_else(is_one, cells, pa.scalar(None, pa.string()))
    return cells.cast(to)
