"""`time:`, in UTC and by the app's clock. Formats are Java's (`yyyy-MM-dd HH:mm:ss.SSS`)."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cep.apps.functions.signature import function
from cep.apps.parts.calendar import EPOCH, MILLISECOND, duration_named, milliseconds_of

DATE_TIME, DATE, TIME = "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd", "HH:mm:ss"
_PIECE = re.compile(r"'([^']*)'|(y+|M+|d+|H+|h+|m+|s+|S+|a|E+|Z|[A-Za-z])|(.)", re.DOTALL)
_WRITTEN: Mapping[str, str] = {
    "yyyy": "%Y",
    "yy": "%y",
    "MMMM": "%B",
    "MMM": "%b",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "hh": "%I",
    "mm": "%M",
    "ss": "%S",
    "a": "%p",
    "EEEE": "%A",
    "EEE": "%a",
    "Z": "%z",
}
_PARTS: Mapping[str, Callable[[datetime], int]] = {
    "year": lambda at: at.year,
    "month": lambda at: at.month,
    "week": lambda at: at.isocalendar().week,
    "day": lambda at: at.day,
    "hour": lambda at: at.hour,
    "min": lambda at: at.minute,
    "sec": lambda at: at.second,
}
_LENGTHS: Mapping[str, timedelta] = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "min": timedelta(minutes=1),
    "sec": timedelta(seconds=1),
}


def written(at: datetime, java_format: str) -> str:
    """Raise ValueError if the format has letters that are not known here."""
    out = ""
    for quoted, letters, other in _PIECE.findall(java_format):
        if letters.startswith("S"):
            out += f"{at.microsecond // 1_000:03}"
        elif letters:
            out += at.strftime(_format_of(letters))
        else:
            out += quoted or other
    return out


def _format_of(letters: str) -> str:
    """Raise ValueError."""
    if letters not in _WRITTEN:
        raise ValueError(f"{letters!r} is no part of a time's format here")
    return _WRITTEN[letters]


def read_time(text: str, java_format: str = DATE_TIME) -> datetime:
    """Raise ValueError."""
    out = ""
    for quoted, letters, other in _PIECE.findall(java_format):
        plain = (quoted or other).replace("%", "%%")
        out += "%f" if letters.startswith("S") else _format_of(letters) if letters else plain
    at = datetime.strptime(text, out)  # noqa: DTZ007  # a zone if the format has one, else UTC
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _moment(value: Any, *java_format: str) -> datetime:
    """Return the moment of a text, or of milliseconds."""
    return read_time(value, *java_format) if isinstance(value, str) else EPOCH + value * MILLISECOND


def formatted(value: Any, wanted: str, *source: str) -> str:
    return written(_moment(value, *source), wanted)


def part(unit: str, value: Any, *java_format: str) -> int:
    name = duration_named(unit)
    if name is None:
        raise ValueError(f"{unit!r} is no part of a time")
    return _PARTS[name](_moment(value, *java_format))


def later(value: Any, count: int, unit: str, *java_format: str) -> str:
    return written(_moved(_moment(value, *java_format), count, unit), *(java_format or (DATE_TIME,)))


def earlier(value: Any, count: int, unit: str, *java_format: str) -> str:
    return later(value, -count, unit, *java_format)


def _moved(at: datetime, count: int, unit: str) -> datetime:
    name = duration_named(unit) or ""
    if name in _LENGTHS:
        return at + count * _LENGTHS[name]
    if name not in ("month", "year"):
        raise ValueError(f"{unit!r} is no part of a time")
    months = at.year * 12 + at.month - 1 + count * (12 if name == "year" else 1)
    year, month = divmod(months, 12)
    last = (datetime(year + (month == 11), (month + 1) % 12 + 1, 1, tzinfo=UTC) - timedelta(days=1)).day
    return at.replace(year=year, month=month + 1, day=min(at.day, last))


def days_between(later_one: Any, earlier_one: Any, *formats: str) -> int:
    first = _moment(later_one, *formats[:1])
    second = _moment(earlier_one, *formats[1:] or formats[:1])
    return (first.date() - second.date()).days


def _now(java_format: str) -> Callable[[int], str]:
    return lambda now: written(_moment(now), java_format)


def _stamp(now: int, *given: str) -> int:
    return milliseconds_of(read_time(*given)) if given else now


TIME_FUNCTIONS = (
    function("time:timestampInMilliseconds", "any* -> long", _stamp, takes_clock=True),
    function("time:currentTimestamp", "-> string", _now(DATE_TIME), takes_clock=True),
    function("time:utcTimestamp", "-> string", _now(DATE_TIME), takes_clock=True),
    function("time:currentDate", "-> string", _now(DATE), takes_clock=True),
    function("time:currentTime", "-> string", _now(TIME), takes_clock=True),
    function("time:dateFormat", "any string string? -> string", formatted),
    function("time:extract", "string any string? -> int", part),
    function("time:date", "any string? -> string", lambda value, *given: written(_moment(value, *given), DATE)),
    function("time:dayOfWeek", "any string? -> string", lambda value, *given: written(_moment(value, *given), "EEEE")),
    function("time:dateAdd", "any int string string? -> string", later),
    function("time:dateSub", "any int string string? -> string", earlier),
    function("time:dateDiff", "any any string* -> int", days_between),
)
