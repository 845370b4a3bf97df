"""JSON files that hold one list of rows, read block by block; each number keeps its text."""

import codecs
import json
import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from tick_sets.errors import reject
from tick_sets.rows.csv_columns import UNREADABLE, FilePart
from tick_sets.rows.import_format import RejectedRow
from tick_sets.rows.packed_files import opened

BLOCK_BYTES = 1_000_000
LONGEST_ROW = 1_000_000
"""Characters. Rows have seven cells."""
UNSUSPICIOUS_BYTES = 100_000_000
MOST_TIMES_PACKED = 250
"""A file that unpacks to more is no market data: even uniform bars of a quiet market reach only 20 times."""
_BEHIND_A_ROW = re.compile(r"\s*([,\]])\s*")


def json_rows(path: Path, columns: tuple[str, ...], block: int = BLOCK_BYTES) -> Iterator[FilePart]:
    """`columns` as strings; rows are counted from 1. Raises ImportRejectedError, also for a file without any row of
    these columns.

    Memory: of one `block`, in bytes, whatever the file unpacks to.
    """
    number, is_empty = 0, True
    for rows in _List(path, columns, block).blocks():
        whole, numbers, rejected = [], [], []
        for number, row in enumerate(rows, start=number + 1):  # noqa: B020 - counts on
            if isinstance(row, list) and len(row) == len(columns):
                whole.append(["" if cell is None else str(cell) for cell in row])
                numbers.append(number)
            else:
                rejected.append(RejectedRow(number, UNREADABLE, json.dumps(row)))
        is_empty = is_empty and not whole
        cells = [pa.array([row[at] for row in whole], pa.string()) for at in range(len(columns))]
        table = pa.Table.from_arrays(cells, names=list(columns))
        yield FilePart(table, np.array(numbers, np.int64), tuple(rejected))
    if is_empty:
        reject(path, None, f"has no row [{', '.join(columns)}]")


class _List:
    """The one list of a file, as its text comes."""

    def __init__(self, path: Path, columns: tuple[str, ...], block: int) -> None:
        self._path = path
        self._columns = columns
        self._block = block
        self._decoder = JSONDecoder(parse_float=str, parse_int=str)
        self._text = ""
        """What was read and is not in a row yet."""
        self._has_begun = False
        self._has_rows = False
        self._has_ended = False

    def blocks(self) -> Iterator[list[Any]]:
        """Return all rows, block by block. Raises ImportRejectedError."""
        for text in self._texts():
            self._text = (self._text + text).lstrip()
            self._begin()
            rows = self._whole_rows()
            self._has_rows |= bool(rows)
            if rows:
                yield rows
        if not self._has_begun and not self._text:
            reject(self._path, None, "is empty")
        if not self._has_ended or self._text:
            self._reject_damaged()
        if not self._has_rows:
            self._reject_other()

    def _texts(self) -> Iterator[str]:
        packed, unpacked = self._path.stat().st_size, 0
        decoder = codecs.getincrementaldecoder("utf-8")()
        with opened(self._path) as file:
            while data := file.read(self._block):
                unpacked += len(data)
                if unpacked > max(UNSUSPICIOUS_BYTES, MOST_TIMES_PACKED * packed):
                    reject(
                        self._path,
                        None,
                        f"unpacks to more than {MOST_TIMES_PACKED} times its size; if that is right, unpack it first",
                    )
                yield decoder.decode(data)
            yield decoder.decode(b"", final=True)

    def _begin(self) -> None:
        if self._has_begun or not self._text:
            return
        if self._text.startswith("["):
            self._text, self._has_begun = self._text[1:].lstrip(), True
        elif self._whole(0) is not None:
            self._reject_other()

    def _whole_rows(self) -> list[Any]:
        """Return the whole rows of the text so far. A row is whole once a comma or the end of the list follows it."""
        rows, at = [], 0
        if self._has_begun and not self._has_rows and self._text.startswith("]"):
            self._text, self._has_ended = self._text[1:].lstrip(), True
        while self._has_begun and not self._has_ended:
            found = self._whole(at)
            behind = None if found is None else _BEHIND_A_ROW.match(self._text, found[1])
            if found is None or behind is None:
                break
            rows.append(found[0])
            at, self._has_ended = behind.end(), behind[1] == "]"
        self._text = self._text[at:]
        if len(self._text) > LONGEST_ROW:
            self._reject_damaged()
        return rows

    def _whole(self, at: int) -> tuple[Any, int] | None:
        """Return the value that begins there, and where it ends; None if the text so far has no whole one."""
        try:
            return self._decoder.raw_decode(self._text, at)
        except JSONDecodeError:
            return None
        except RecursionError:
            self._reject_damaged()

    def _reject_damaged(self) -> NoReturn:
        reject(self._path, None, "is not whole JSON; it is damaged or was cut off")

    def _reject_other(self) -> NoReturn:
        reject(self._path, None, f"is not a list of rows [{', '.join(self._columns)}]")
