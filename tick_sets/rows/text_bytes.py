"""Looks at the bytes of a column of text as a whole, where a regular expression would run for each cell.

Arrow keeps the cells of a column one behind the other, so a few passes over these bytes tell whether all of them are
plain digits. What is not is left to the regular expressions.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int32]

_POINT, _SLASH, _ZERO = (np.uint8(ord(letter)) for letter in "./0")
_TEN, _TWELVE = np.uint8(10), np.uint8(12)


class TextBytes(NamedTuple):
    """`places`: where each cell begins in `data`, and behind them the end of the last; a null cell has no bytes."""

    places: Places
    data: Bytes

    @property
    def lengths(self) -> Places:
        """Return the bytes of each cell."""
        return np.diff(self.places)

    def counts(self, flags: Flags) -> npt.NDArray[np.int64]:
        """Return how many of each cell's bytes have the flag."""
        before = np.concatenate(([0], np.cumsum(flags)))
        found: npt.NDArray[np.int64] = before[self.places[1:]] - before[self.places[:-1]]
        return found


def bytes_of(cells: "pa.StringArray") -> TextBytes:
    """Return the bytes of an array of strings; a view, nothing is copied."""
    buffers: Any = cells.buffers()
    _, places, data = buffers
    if places is None or not len(cells):
        return TextBytes(np.zeros(len(cells) + 1, np.int32), np.empty(0, np.uint8))
    all_places = np.frombuffer(places, np.int32)[cells.offset : cells.offset + len(cells) + 1]
    first, end = int(all_places[0]), int(all_places[-1])
    known = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)[first:end]
    return TextBytes(all_places - first if first else all_places, known)


def whole(cells: Any) -> "pa.StringArray":
    """Return a column as one array; it is copied only if it has several parts."""
    if isinstance(cells, pa.ChunkedArray):
        return cells.chunk(0) if cells.num_chunks == 1 else cells.combine_chunks()  # type: ignore[return-value]
    return cells  # type: ignore[no-any-return]  # what is no column of parts is an array


def digits(data: Bytes) -> Flags:
    """Return which bytes are digits."""
    flags: Flags = data - _ZERO < _TEN
    return flags


def digits_and_points(data: Bytes) -> Flags:
    """Return which bytes are digits or points."""
    # in ASCII a point, a slash and the digits follow each other
    flags: Flags = (data - _POINT < _TWELVE) & (data != _SLASH)
    return flags


def has_only_digits_and_points(cells: Any) -> bool:
    """Return whether no cell has any other letter; cells may be null or empty."""
    parts: list[Any] = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    return all(bool(digits_and_points(bytes_of(part).data).all()) for part in parts)


def only_word(cells: "pa.StringArray") -> str | None:
    """Return the one word that stands in every cell; None if there are others, nulls, or no cells."""
    if not len(cells) or cells.null_count:
        return None
    places, data = bytes_of(cells)
    length = int(places[1])
    if len(data) != length * len(cells) or (np.diff(places) != length).any():
        return None
    return str(cells[0]) if np.array_equal(data[length:], data[: len(data) - length]) else None
