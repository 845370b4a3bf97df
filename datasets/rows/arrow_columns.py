"""Columns of Arrow tables as NumPy arrays and back, for code that computes with whole columns."""

from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Flags: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Words: TypeAlias = "pa.ChunkedArray[Any]"


def words_of(rows: pa.Table, name: str) -> "pa.StringArray":
    """Null as ""."""
    column: Any = rows[name].combine_chunks()
    return cast("pa.StringArray", column.fill_null(""))


def integers_of(rows: pa.Table, name: str) -> Integers:
    """Null as 0."""
    numbers: Integers = rows[name].fill_null(pa.scalar(0, pa.int64())).to_numpy()
    return numbers


def coded(rows: pa.Table, name: str) -> tuple[Integers, list[str]]:
    """A number per row, and the words that the numbers stand for."""
    words: Any = words_of(rows, name).dictionary_encode()
    return words.indices.to_numpy().astype(np.int64), [str(word) for word in words.dictionary.to_pylist()]


def plain_numbers(cells: Any) -> Any:
    """Numbers as people and spreadsheets write them, without blanks around them and a plus before them."""
    is_padded: Any = pc.match_substring_regex(cells, r"^[+\s]|\s$")
    if not pc.any(is_padded).as_py():
        return cells
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(cells), pattern=r"^\+([0-9])", replacement=r"\1")


def matching(words: "pa.StringArray", pattern: str) -> Flags:
    found: Any = pc.match_substring_regex(words, pattern)
    flags: Flags = found.to_numpy(zero_copy_only=False)
    return flags


def floats_of(words: "pa.StringArray", is_number: Flags) -> Floats:
    """Each string's own double, NaN where it is no number."""
    cells: Any = words if is_number.all() else pc.if_else(pa.array(is_number), words, pa.scalar(None, pa.string()))
    numbers: Floats = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers


def taken(rows: pa.Table, places: Integers) -> pa.Table:
    return rows.take(cast("pa.Int64Array", pa.array(places)))


def kept(rows: pa.Table, flags: Flags) -> pa.Table:
    return rows if flags.all() else rows.filter(pa.array(flags))


def with_column(rows: pa.Table, name: str, values: Any) -> pa.Table:
    """In place of the column of that name, or behind all."""
    if name in rows.column_names:
        return rows.set_column(rows.column_names.index(name), name, values)
    return rows.append_column(name, values)
