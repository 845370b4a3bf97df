"""Times of third-party files as microseconds UTC: numbers since 1970 in a unit that is known, or text."""

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from datasets.rows.arrow_columns import plain_numbers
from datasets.rows.csv_columns import whole_numbers
from datasets.rows.quote_rows import reject
from market.time_units import MICROSECONDS

Unit = Literal["s", "ms", "us", "ns"]
Fold = Literal["reject", "first", "second"]
"""Of an hour that comes twice on the clock: its rows are rejected, or are of the first or the second time."""
NO_SUCH_TIME, REPEATED_TIME = "no_such_local_time", "repeated_local_time"
Cells: TypeAlias = "pa.ChunkedArray[Any]"
Lines: TypeAlias = npt.NDArray[np.int64]


class TextTimes(NamedTuple):
    """Microseconds UTC, and why a text that could be read is no one time."""

    times: Cells
    faults: "pa.StringArray"


_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_EARLIEST, _LATEST = 631_152_000, 4_102_444_800
"""1990 and 2100, in seconds: a number outside is of another unit."""
_SECONDS = r"^[0-9]{1,18}(\.[0-9]{1,9})?$"


def epoch_times(path: Path, cells: Cells, lines: Lines, unit: Unit) -> Cells:
    """Null where a cell is no number. Raises ImportRejectedError for the first number of another unit."""
    if unit == "s":
        whole, fractions = _seconds(cells)
        _check(path, cells, whole, lines, (unit, _EARLIEST, _LATEST))
        return pc.add(pc.multiply(whole, pa.scalar(MICROSECONDS, pa.int64())), fractions)
    numbers = whole_numbers(cells)
    per_second = _PER_SECOND[unit]
    _check(path, cells, numbers, lines, (unit, _EARLIEST * per_second, _LATEST * per_second))
    if unit == "ns":
        return pc.divide(numbers, pa.scalar(1_000, pa.int64()))
    return pc.multiply(numbers, pa.scalar(MICROSECONDS // per_second, pa.int64()))


def text_times(cells: Cells, zone: tzinfo = UTC, form: str | None = None, fold: Fold = "reject") -> TextTimes:
    """`form` as strptime has it, None: ISO 8601; `zone` of times that name none. Null where a cell is no time, or no
    one time: where clocks are put forward local times are left out, and where they are put back each comes twice,
    and `fold` says which of both it is."""
    cells = pc.utf8_trim_whitespace(cells)
    coded = cells.combine_chunks().dictionary_encode()
    read: Callable[[str], datetime] = (
        datetime.fromisoformat if form is None else lambda text: datetime.strptime(text, form)  # noqa: DTZ007 - a zone follows
    )
    found = [_microseconds(str(text), read, zone, fold) for text in coded.dictionary.to_pylist()]
    moments = pa.array([None if isinstance(one, str) else one for one in found], pa.int64())
    faults = pa.array([one if isinstance(one, str) else None for one in found], pa.string())
    return TextTimes(pa.chunked_array([moments.take(coded.indices)]), faults.take(coded.indices))


def _microseconds(text: str, read: Callable[[str], datetime], zone: tzinfo, fold: Fold) -> int | str | None:
    """Or the reason why it is no one time."""
    try:
        moment = read(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
            fault = _fault_of(moment, fold)
            if fault is not None:
                return fault
            moment = moment.replace(fold=int(fold == "second"))
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return (since.days * 86_400 + since.seconds) * MICROSECONDS + since.microseconds


def _fault_of(moment: datetime, fold: Fold) -> str | None:
    """Python's rule (PEP 495): in a gap the offset before it is the smaller one, in a fold the larger one."""
    before, after = (moment.replace(fold=number).utcoffset() for number in (0, 1))
    if before is None or after is None or before == after:
        return None
    if before < after:
        return NO_SUCH_TIME
    return REPEATED_TIME if fold == "reject" else None


def _seconds(cells: Cells) -> tuple[Cells, Cells]:
    """Whole ones, and microseconds of what is behind the point; more decimals than six are cut off."""
    cells = plain_numbers(cells)
    is_one = pc.match_substring_regex(cells, _SECONDS)
    text = pc.if_else(is_one, cells, pa.scalar(None, pa.string()))
    whole = pc.replace_substring_regex(text, r"\..*$", "")
    decimals = pc.replace_substring_regex(text, r"^[0-9]+\.?", "")
    padded = pc.utf8_slice_codeunits(pc.utf8_rpad(decimals, 6, "0"), 0, 6)
    return whole.cast(pa.int64()), padded.cast(pa.int64())


def _check(
    path: Path,
    cells: Cells,
    numbers: Cells,
    lines: Lines,
    bounds: tuple[Unit, int, int],
) -> None:
    unit, least, most = bounds
    found = np.flatnonzero(_is_other(numbers, least, most))
    if len(found):
        place = int(found[0])
        reject(path, int(lines[place]), f"its time {cells[place].as_py()} is not in {_NAMES[unit]} since 1970")


def _is_other(numbers: Cells, least: int, most: int) -> npt.NDArray[np.bool_]:
    known = numbers.fill_null(pa.scalar(least, pa.int64())).to_numpy()
    flags: npt.NDArray[np.bool_] = (known < least) | (known >= most)
    return flags
