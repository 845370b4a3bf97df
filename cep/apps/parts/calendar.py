"""Calendar buckets in UTC, times as people write them in `within`, and times by cron expressions."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from croniter import croniter
from croniter.croniter import CroniterError

MILLISECOND = timedelta(milliseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SPANS: Mapping[str, int] = {"sec": 1_000, "min": 60_000, "hour": 3_600_000, "day": 86_400_000}
"""Milliseconds of those that are always as long."""
PLURALS: Mapping[str, str] = {
    **{f"{name}s": name for name in ("sec", "min", "hour", "day", "week", "month", "year")},
    "second": "sec",
    "seconds": "sec",
    "minute": "min",
    "minutes": "min",
}
CRON_FIELDS = range(6, 8)
TIME = re.compile(
    r"(\d{4})-(\d\d|\*\*)-(\d\d|\*\*) (\d\d|\*\*):(\d\d|\*\*):(\d\d|\*\*)(?: ([+-])(\d\d):(\d\d))?",
)
LOWEST = (1, 1, 0, 0, 0)
"""Month, day, hour, minute and second."""


def duration_named(text: str) -> str | None:
    """`sec`, `min`, `hour`, `day`, `week`, `month` or `year`; None if the text is none of them."""
    name = text.strip().lower()
    name = PLURALS.get(name, name)
    return name if name in ("sec", "min", "hour", "day", "week", "month", "year") else None


def bucket_start(duration: str, time: int) -> int:
    """When the bucket that `time` is in begins; milliseconds."""
    span = SPANS.get(duration)
    if span is not None:
        return time - time % span
    at = EPOCH + time * MILLISECOND
    at = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if duration == "week":
        at -= timedelta(days=at.weekday())
    else:
        at = at.replace(day=1, month=at.month if duration == "month" else 1)
    return milliseconds_of(at)


def milliseconds_of(at: datetime) -> int:
    return (at - EPOCH) // MILLISECOND


def time_range(text: str) -> tuple[int, int]:
    """From the first moment of it to the first after it; `2026-11-** **:**:**` is a month. Raises ValueError."""
    found = TIME.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no time; write 2026-11-27 00:00:00, or ** from some place on for all of it")
    year, *fields, sign, hours, minutes = found.groups()
    known = [int(one) for one in fields if one != "**"]
    if "**" in fields[: len(known)]:
        raise ValueError(f"{text!r}: after ** there can only be **")
    month, day, hour, minute, second = (*known, *LOWEST[len(known) :])
    first = datetime(int(year), month, day, hour, minute, second, tzinfo=UTC)
    if sign is not None:
        away = timedelta(hours=int(hours), minutes=int(minutes))
        first -= away if sign == "+" else -away
    return milliseconds_of(first), milliseconds_of(_next(first, len(known)))


def _next(first: datetime, known: int) -> datetime:
    """By how many fields after the year are known."""
    if known == 0:
        return first.replace(year=first.year + 1)
    if known == 1:
        return (first.replace(day=28) + timedelta(days=4)).replace(day=1)
    return first + (timedelta(days=1), timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1))[known - 2]


class CronTimes:
    """By one of Quartz: seconds first, `?` if a day is left open. UTC. Raises ValueError if the text is none."""

    def __init__(self, text: str) -> None:
        fields = text.split()
        if len(fields) not in CRON_FIELDS:
            raise ValueError("it has 6 fields, or 7 with a year: second, minute, hour, day, month, day of the week")
        try:
            self._times = croniter(text.replace("?", "*"), 0, second_at_beginning=True)
        except (CroniterError, ValueError, KeyError) as error:
            raise ValueError(str(error).rstrip(".")) from error

    def after(self, now: int) -> int | None:
        """Return the first after `now`, milliseconds; None if there is none."""
        self._times.set_current(datetime.fromtimestamp(now // 1_000, UTC))
        try:
            return int(self._times.get_next(float)) * 1_000
        except CroniterError:
            return None
