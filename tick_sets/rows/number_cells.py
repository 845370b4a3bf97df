"""Reads numbers from columns of text: plain digits all at once, everything else cell by cell.

Nearly all that files bring is digits and a point. A column of nothing else shows that by its bytes, and is read in one
step; in any other one, regular expressions look at the cells that are not plain. What comes out is the same.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from market.money import SHORT_TEXT, decimal_of, text_of
from tick_sets.rows.text_bytes import (
    Flags,
    bytes_of,
    digits,
    digits_and_points,
    has_only_digits_and_points,
    whole,
)

NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$"
_DOUBTFUL = f"[eE]|.{{{SHORT_TEXT + 1}}}"
_WHOLE = r"^-?([0-9]{1,18}|[1-8][0-9]{18})$"
"""Nineteen digits are a time in nanoseconds; what begins with a 9 may leave 63 bits."""
_SAFE_DIGITS = 18
_POINT, _ONE, _EIGHT = (np.uint8(ord(letter)) for letter in ".18")

Floats = npt.NDArray[np.float64]


class NumberCells(NamedTuple):
    """`texts`: the cells, with plain digits in place of exponents; `doubles`: NaN for no number; `is_out`: which
    numbers money cannot be made of, since they have too many digits or are out of bounds."""

    texts: "pa.StringArray"
    doubles: Floats
    is_out: Flags


def number_cells(cells: "pa.StringArray") -> NumberCells:
    """Return the numbers of a column without nulls."""
    doubles = _plain_doubles(cells)
    if doubles is not None:
        return NumberCells(cells, doubles, np.zeros(len(cells), dtype=np.bool_))
    is_plain = _plain_flags(cells)
    others = exact_number_cells(cells.filter(pa.array(~is_plain)))
    doubles, is_out = np.empty(len(cells)), np.zeros(len(cells), dtype=np.bool_)
    doubles[is_plain] = _doubles(cells.filter(pa.array(is_plain)))
    doubles[~is_plain], is_out[~is_plain] = others.doubles, others.is_out
    texts: Any = pc.replace_with_mask(cells, pa.array(~is_plain), others.texts)
    return NumberCells(texts, doubles, is_out)


def exact_number_cells(cells: "pa.StringArray") -> NumberCells:
    """Return the same, by looking at each cell."""
    texts = without_exponents(plain_numbers(cells))
    is_number = _matching(texts, NUMBER)
    known: Any = texts if is_number.all() else pc.if_else(pa.array(is_number), texts, pa.scalar(None, pa.string()))
    return NumberCells(texts, _doubles(known), is_number & _out_of_money(texts))


def _plain_doubles(cells: "pa.StringArray") -> Floats | None:
    """Return the doubles if every cell is plain, else None."""
    read = bytes_of(cells)
    lengths = read.lengths
    if not len(lengths):
        return np.empty(0)
    if lengths.min() < 1 or lengths.max() > SHORT_TEXT or not digits_and_points(read.data).all():
        return None
    if (read.data[read.places[:-1]] == _POINT).any() or (read.data[read.places[1:] - 1] == _POINT).any():
        return None
    try:
        return _doubles(cells)
    except pa.ArrowInvalid:
        # a cell with two points
        return None


def _plain_flags(cells: "pa.StringArray") -> Flags:
    """Return which cells are digits, with at most one point among them, and too short to leave the bounds of money."""
    read = bytes_of(cells)
    is_plain: Flags = (read.lengths >= 1) & (read.lengths <= SHORT_TEXT)
    is_plain &= (read.counts(~digits_and_points(read.data)) == 0) & (read.counts(read.data == _POINT) <= 1)
    there = np.flatnonzero(is_plain)
    firsts, lasts = read.data[read.places[there]], read.data[read.places[there + 1] - 1]
    is_plain[there] = (firsts != _POINT) & (lasts != _POINT)
    return is_plain


def _out_of_money(texts: "pa.StringArray") -> Flags:
    """Return which numbers `decimal_of` rejects: short ones never, those that kept their exponent always."""
    doubtful = _matching(texts, _DOUBTFUL)
    for place in np.flatnonzero(doubtful).tolist():
        try:
            decimal_of(str(texts[place]))
            doubtful[place] = False
        except ValueError:
            continue
    return doubtful


def _matching(texts: "pa.StringArray", pattern: str) -> Flags:
    found: Any = pc.match_substring_regex(texts, pattern)
    flags: Flags = found.to_numpy(zero_copy_only=False)
    return flags


def _doubles(texts: "pa.StringArray") -> Floats:
    """Return each string's own double, null as NaN."""
    cells: Any = texts
    numbers: Floats = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers


def whole_numbers(cells: Any) -> "pa.ChunkedArray[Any]":
    """Return int64, null if a cell is no whole number of 63 bits. 1725000000000.0 and 1.725e12 are whole numbers."""
    column: Any = whole(cells)
    is_plain = _whole_flags(column)
    if is_plain.all():
        return pa.chunked_array([column.cast(pa.int64())])
    is_other = pa.array(~is_plain)
    plain: Any = pc.if_else(is_other, pa.scalar(None, pa.string()), column).cast(pa.int64())
    others = exact_whole_numbers(column.filter(is_other)).cast(pa.int64())
    return pa.chunked_array([pc.replace_with_mask(plain, is_other, others)])


def exact_whole_numbers(cells: Any) -> Any:
    """Return the same, by looking at each cell."""
    cells = plain_numbers(cells)
    is_one: Any = pc.match_substring_regex(cells, _WHOLE)
    if not pc.all(is_one).as_py():
        cells = pc.replace_substring_regex(without_exponents(cells), pattern=r"^(-?[0-9]+)\.0*$", replacement=r"\1")
        is_one = pc.match_substring_regex(cells, _WHOLE)
    return pc.if_else(is_one, cells, pa.scalar(None, pa.string())).cast(pa.int64())


def are_whole_numbers(cells: Any) -> bool:
    """Return whether every cell is plain digits of 63 bits at most; False for a column with nulls."""
    return bool(_whole_flags(whole(cells)).all())


def _whole_flags(cells: "pa.StringArray") -> Flags:
    """Return which cells are digits alone, and too few to leave 63 bits."""
    read = bytes_of(cells)
    lengths = read.lengths
    is_short: Flags = (lengths >= 1) & (lengths <= _SAFE_DIGITS)
    if not is_short.all():
        there = np.flatnonzero(lengths == _SAFE_DIGITS + 1)
        firsts = read.data[read.places[there]]
        is_short[there] = (firsts >= _ONE) & (firsts <= _EIGHT)
    if cells.null_count:
        is_short &= cells.is_valid().to_numpy(zero_copy_only=False)
    is_digit = digits(read.data)
    return is_short if is_digit.all() else is_short & (read.counts(~is_digit) == 0)


def plain_numbers(cells: Any) -> Any:
    """Return numbers as people and spreadsheets write them, without blanks around them and a plus before them."""
    if has_only_digits_and_points(cells):
        return cells
    is_padded: Any = pc.match_substring_regex(cells, r"^[+\s]|\s$")
    if not pc.any(is_padded).as_py():
        return cells
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(cells), pattern=r"^\+([0-9])", replacement=r"\1")


def without_exponents(cells: Any) -> Any:
    """Return 1e-7 as 0.0000001, each distinct cell once; what is no number of ours stays as it is."""
    if has_only_digits_and_points(cells):
        return cells
    has_one = pc.match_substring_regex(cells, r"^-?[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]{1,3}$")
    if not pc.any(has_one).as_py():
        return cells
    coded: Any = whole(cells).dictionary_encode()
    plain = pa.array([_without_exponent(text) for text in coded.dictionary.to_pylist()], pa.string()).take(
        coded.indices
    )
    return pa.chunked_array([plain]) if isinstance(cells, pa.ChunkedArray) else plain


def _without_exponent(text: str | None) -> str | None:
    if text is None or "e" not in text.lower():
        return text
    try:
        return text_of(decimal_of(text))
    except ValueError:
        return text
