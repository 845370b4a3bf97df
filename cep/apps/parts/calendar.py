"""Calendar buckets in a time zone, times as people write them in `within`, and times by cron expressions."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

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


@cache
def zone_named(name: str) -> ZoneInfo:
    """Raise ValueError if there is no such time zone."""
    if name not in zone_names():
        raise ValueError(f"there is no time zone {name!r}")
    return ZoneInfo(name)


@cache
def zone_names() -> frozenset[str]:
    """Return those of the IANA database, such as `Europe/Berlin`."""
    return frozenset(available_timezones())


def bucket_start(duration: str, time: int, zone: ZoneInfo | None = None) -> int:
    """When the bucket that `time` is in begins; milliseconds. `zone`: whose hours, days, weeks, months and years are
    meant; None for UTC."""
    if duration in ("sec", "min") or (zone is None and duration in SPANS):
        span = SPANS[duration]
        return time - time % span
    # zones are whole minutes from UTC, so a bucket never begins within a minute
    return _start_of(duration, time // SPANS["min"], zone)


@lru_cache(maxsize=4096)
def _start_of(duration: str, minute: int, zone: ZoneInfo | None) -> int:
    """`minute`: since 1970."""
    at = EPOCH + timedelta(minutes=minute)
    local = at.astimezone(zone or UTC)
    if duration == "hour":
        # of an hour that comes twice in a night, each is a bucket of its own
        return milliseconds_of(at - timedelta(minutes=local.minute))
    local = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if duration == "week":
        local -= timedelta(days=local.weekday())
    elif duration != "day":
        local = local.replace(day=1, month=local.month if duration == "month" else 1)
    return milliseconds_of(local.astimezone(UTC))


def milliseconds_of(at: datetime) -> int:
    return (at - EPOCH) // MILLISECOND


def time_range(text: str, zone: ZoneInfo | None = None) -> tuple[int, int]:
    """From the first moment of it to the first after it; `2026-11-** **:**:**` is a month. `zone`: of a text that says
    none; None for UTC. Raises ValueError."""
    found = TIME.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no time; write 2026-11-27 00:00:00, or ** from some place on for all of it")
    year, *fields, sign, hours, minutes = found.groups()
    known = [int(one) for one in fields if one != "**"]
    if "**" in fields[: len(known)]:
        raise ValueError(f"{text!r}: after ** there can only be **")
    month, day, hour, minute, second = (*known, *LOWEST[len(known) :])
    try:
        first = datetime(int(year), month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise ValueError(f"{text!r} is no time: {error}") from error
    written, ahead = (first, _next(first, len(known))), timedelta()
    if sign is None:
        written = (written[0].replace(tzinfo=zone or UTC), written[1].replace(tzinfo=zone or UTC))
    else:
        ahead = timedelta(hours=int(hours), minutes=int(minutes)) * (1 if sign == "+" else -1)
    since, until = (milliseconds_of(one.astimezone(UTC) - ahead) for one in written)
    return since, until


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
