"""Times of third-party files as microseconds UTC: numbers since 1970, in a known or a detected unit, or text."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from market.time_units import MICROSECONDS
from tick_sets.errors import reject
from tick_sets.rows.number_cells import are_whole_numbers, plain_numbers, whole_numbers, without_exponents
from tick_sets.rows.quote_rows import whole_number
from tick_sets.rows.text_bytes import bytes_of, digits, whole

Unit = Literal["s", "ms", "us", "ns"]
Fold = Literal["reject", "first", "second"]
"""For an hour that occurs twice on the clock: reject its rows, or take them as the first or the second occurrence."""
NO_SUCH_TIME, REPEATED_TIME = "no_such_local_time", "repeated_local_time"
Cells: TypeAlias = "pa.ChunkedArray[Any]"
Lines: TypeAlias = npt.NDArray[np.int64]


class TextTimes(NamedTuple):
    """Microseconds UTC, and why a text that could be read is not one definite time."""

    times: Cells
    faults: "pa.StringArray"


_MILLISECONDS, _MICROSECONDS = (10**12, 10**13), (10**15, 10**16)
"""From 2001 to 2286: no number is a time in both units."""
_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_PER_SECOND: dict[Unit, int] = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_EARLIEST, _LATEST = 631_152_000, 4_102_444_800
"""1990 and 2100, in seconds: a number outside is of another unit."""
_DECIMALS = {"s": 6, "ms": 3, "us": 0}
"""Digits behind the point of a number in this unit that are microseconds."""
_NUMBER = r"^[0-9]{1,19}(\.[0-9]*)?$"
_UTC = re.compile(r" ?(UTC|GMT)$")
_ISO = {
    length: np.frombuffer(b"0000-00-00 00:00:00.000000"[:length], np.uint8)
    for length in (len("2024-05-06 07:08:09"), len("2024-05-06 07:08:09.123"), len("2024-05-06 07:08:09.123456"))
}
"""Length → letters, of which zeros stand for digits."""
_BETWEEN = 10
"""Where day and hour meet."""


def times_by_size(path: Path, cells: Cells, lines: Lines) -> Cells:
    """Return times as `epoch_times`, each number in the unit that its size says: years from 1990 to 2100 are apart in
    all units."""
    text, numbers = _decimal_texts(cells)
    found: Cells = pa.chunked_array([pa.nulls(len(cells), pa.int64())])
    for unit, per_second in _PER_SECOND.items():
        is_one = pc.and_(
            pc.greater_equal(numbers, pa.scalar(_EARLIEST * per_second, pa.int64())),
            pc.less(numbers, pa.scalar(_LATEST * per_second, pa.int64())),
        )
        if not numbers.null_count and pc.all(is_one).as_py():
            return epoch_times(path, text, lines, unit)
        found = pc.coalesce(
            found, epoch_times(path, pc.if_else(is_one, text, pa.scalar(None, pa.string())), lines, unit)
        )
    is_none = np.flatnonzero(pc.and_(numbers.is_valid(), found.is_null()).to_numpy())
    if len(is_none):
        place = int(is_none[0])
        reject(path, int(lines[place]), f"its time {cells[place].as_py()} is in no unit since 1970 (s, ms, us, ns)")
    return found


def epoch_times(path: Path, cells: Cells, lines: Lines, unit: Unit) -> Cells:
    """Return microseconds, truncated. Null if a cell is no number. Raises ImportRejectedError for the first number
    of another unit."""
    text, numbers = _decimal_texts(cells)
    per_second = _PER_SECOND[unit]
    _check(path, cells, numbers, lines, (unit, _EARLIEST * per_second, _LATEST * per_second))
    if unit == "ns":
        return pc.divide(numbers, pa.scalar(1_000, pa.int64()))
    times = pc.multiply(numbers, pa.scalar(MICROSECONDS // per_second, pa.int64()))
    decimals = _DECIMALS[unit]
    if not decimals or not pc.any(pc.match_substring(text, ".")).as_py():
        return times
    behind = pc.replace_substring_regex(text, r"^[0-9]+\.?", "")
    return pc.add(times, pc.utf8_slice_codeunits(pc.utf8_rpad(behind, decimals, "0"), 0, decimals).cast(pa.int64()))


@dataclass(slots=True)
class Epochs:
    """The unit of one file's times: detected from the first, the same for all."""

    path: Path
    factor: int = 0
    """Microseconds in one unit; 0 before the first time."""

    def microseconds(self, cells: Cells, lines: Lines) -> "pa.Int64Array":
        """Return microseconds, null if a cell is no number. Raises ImportRejectedError."""
        numbers = whole_numbers(cells)
        known = numbers.fill_null(pa.scalar(0, pa.int64())).to_numpy()
        is_known = numbers.is_valid().to_numpy()
        for factor, (least, most) in ((1_000, _MILLISECONDS), (1, _MICROSECONDS)):
            is_of_unit = (known >= least) & (known < most)
            if self.factor == 0 and is_known.any() and is_of_unit[is_known][0]:
                self.factor = factor
            if self.factor == factor and not is_of_unit[is_known].all():
                self._reject(int(np.flatnonzero(is_known & ~is_of_unit)[0]), known, lines)
        if self.factor == 0 and is_known.any():
            self._reject(int(np.flatnonzero(is_known)[0]), known, lines)
        return pa.array(known * self.factor, pa.int64(), mask=~is_known)

    def _reject(self, place: int, numbers: Lines, lines: Lines) -> None:
        found, line = int(numbers[place]), int(lines[place])
        unit = {1_000: "milliseconds", 1: "microseconds"}.get(self.factor)
        if unit is None:
            reject(self.path, line, f"its time {found} is neither in milliseconds nor in microseconds since 1970")
        reject(
            self.path, line, f"its time {found} is not in {unit}, in which the times before it are; cut the file there"
        )


@dataclass(slots=True)
class Moments:
    """One file's times, read one by one: their number of digits gives the unit, the same for all."""

    path: Path
    digits: int = 0

    def microseconds(self, text: str, line: int) -> int | None:
        """Return microseconds, None if it is no number. Raises ImportRejectedError."""
        number = whole_number(text)
        if number is None:
            return None
        text = str(number)
        self.digits = self.digits or len(text)
        if len(text) not in (13, 16, 19):
            reject(self.path, line, f"its time {text} is in no unit since 1970 that is known (ms, us or ns)")
        if len(text) != self.digits:
            reject(self.path, line, f"its time {text} is in another unit than those before it; cut the file there")
        return int(text) * 10 ** (16 - len(text)) if len(text) < 19 else int(text) // 1_000


def text_times(cells: Cells, zone: tzinfo = UTC, form: str | None = None, fold: Fold = "reject") -> TextTimes:
    """Return times in microseconds UTC, null if a cell is no definite time.

    `form` as for strptime, None: ISO 8601. `zone`: of times that name none. Local times that do not exist (clocks put
    forward) are null; of those that occur twice (clocks put back) `fold` selects one.
    """
    quick = _plain_iso(whole(cells), may_lack_zone=zone is UTC) if form is None else None
    if quick is not None:
        return TextTimes(pa.chunked_array([quick]), pa.nulls(len(quick), pa.string()))
    return exact_text_times(cells, zone, form, fold)


def exact_text_times(cells: Cells, zone: tzinfo, form: str | None, fold: Fold) -> TextTimes:
    """Return the same, by looking at each distinct cell."""
    cells = pc.utf8_trim_whitespace(cells)
    coded = cells.combine_chunks().dictionary_encode()
    read: Callable[[str], datetime] = (
        _of_iso if form is None else lambda text: datetime.strptime(text, form)  # noqa: DTZ007 - a zone follows
    )
    found = [_microseconds(str(text), read, zone, fold) for text in coded.dictionary.to_pylist()]
    moments = pa.array([None if isinstance(one, str) else one for one in found], pa.int64())
    faults = pa.array([one if isinstance(one, str) else None for one in found], pa.string())
    return TextTimes(pa.chunked_array([moments.take(coded.indices)]), faults.take(coded.indices))


def _plain_iso(cells: "pa.StringArray", *, may_lack_zone: bool) -> "pa.Int64Array | None":
    """Return microseconds if all cells are `2024-05-06 07:08:09` of one form: with T or a blank, none, three or six
    decimals, and Z or nothing behind them; else None."""
    read = bytes_of(cells)
    length = int(read.lengths[0]) if len(cells) else 0
    has_zone = bool(length) and bool(read.data[length - 1] == ord("Z"))
    form = _ISO.get(length - has_zone)
    if form is None or not (has_zone or may_lack_zone) or (read.lengths != length).any():
        return None
    letters = read.data.reshape(len(cells), length)
    is_of_form = np.where(form == ord("0"), digits(letters[:, : len(form)]), letters[:, : len(form)] == form)
    is_of_form[:, _BETWEEN] |= letters[:, _BETWEEN] == ord("T")
    is_zoned = not has_zone or bool((letters[:, -1] == ord("Z")).all())
    # Python knows no year 0
    if not is_of_form.all() or not is_zoned or (letters[:, :4] == ord("0")).all(axis=1).any():
        return None
    texts: Any = pc.utf8_slice_codeunits(cells, 0, length - 1) if has_zone else cells
    try:
        found: pa.Int64Array = texts.cast(pa.timestamp("us")).cast(pa.int64())
    except pa.ArrowInvalid:
        # no day or hour of any calendar
        return None
    return found


def _of_iso(text: str) -> datetime:
    """Return the time of ISO 8601 text, also as people write it: `2024-05-06t07:08:09z`, `2024-05-06 07:08:09 UTC` (RFC
    3339, 5.6: letters may be small). Raises ValueError."""
    return datetime.fromisoformat(_UTC.sub("Z", text.upper()))


def _microseconds(text: str, read: Callable[[str], datetime], zone: tzinfo, fold: Fold) -> int | str | None:
    """Return microseconds, or the reason why it is not one definite time."""
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
    """Return why a local time is invalid. Python's rule (PEP 495): in a gap the offset before it is the smaller one, in
    a fold the larger one."""
    before, after = (moment.replace(fold=number).utcoffset() for number in (0, 1))
    if before is None or after is None or before == after:
        return None
    if before < after:
        return NO_SUCH_TIME
    return REPEATED_TIME if fold == "reject" else None


def _decimal_texts(cells: Cells) -> tuple[Cells, Cells]:
    """Return plain digits with or without decimals, and the whole numbers before the point; null if a cell is none."""
    if are_whole_numbers(cells):
        return cells, whole_numbers(cells)
    text = without_exponents(plain_numbers(cells))
    numbers: Cells = pc.if_else(pc.match_substring_regex(text, _NUMBER), text, pa.scalar(None, pa.string()))
    return numbers, whole_numbers(pc.replace_substring_regex(numbers, r"\..*$", ""))


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
        number = int(numbers[place].as_py())
        others = (other for other, factor in _PER_SECOND.items() if _EARLIEST * factor <= number < _LATEST * factor)
        hint = "".join(f"; it would be one in {_NAMES[other]}" for other in others)
        shown = cells[place].as_py()
        reject(path, int(lines[place]), f"its time {shown} is not in {_NAMES[unit]} since 1970{hint}")


def _is_other(numbers: Cells, least: int, most: int) -> npt.NDArray[np.bool_]:
    known = numbers.fill_null(pa.scalar(least, pa.int64())).to_numpy()
    flags: npt.NDArray[np.bool_] = (known < least) | (known >= most)
    return flags
