"""Where buckets of the calendar begin, in time zones too, and times as people write them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.parts.calendar import EPOCH, MILLISECOND, bucket_start, milliseconds_of, time_range, zone_named

DURATIONS = ("sec", "min", "hour", "day", "week", "month", "year")
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "America/Havana", "Asia/Beirut", "UTC")


def at(text: str) -> int:
    """Return the milliseconds of a time with its distance from UTC."""
    return milliseconds_of(datetime.fromisoformat(text).astimezone(UTC))


@pytest.mark.parametrize(
    ("duration", "zone", "time", "start"),
    [
        ("day", None, "2026-11-29T00:30:00+00:00", "2026-11-29T00:00:00+00:00"),
        ("day", "Europe/Berlin", "2026-11-29T23:30:00+00:00", "2026-11-30T00:00:00+01:00"),
        ("month", "America/New_York", "2026-12-01T04:59:59+00:00", "2026-11-01T00:00:00-04:00"),
        ("year", "Asia/Kolkata", "2026-12-31T18:30:00+00:00", "2027-01-01T00:00:00+05:30"),
        ("hour", "Asia/Kathmandu", "2026-11-29T00:20:00+00:00", "2026-11-29T06:00:00+05:45"),
        ("week", "Europe/Berlin", "2026-11-29T23:30:00+00:00", "2026-11-30T00:00:00+01:00"),
        # the clock goes back: the hour from 2 to 3 comes twice, and is two buckets of one day
        ("hour", "Europe/Berlin", "2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+02:00"),
        ("hour", "Europe/Berlin", "2026-10-25T02:30:00+01:00", "2026-10-25T02:00:00+01:00"),
        ("day", "Europe/Berlin", "2026-10-25T23:30:00+01:00", "2026-10-25T00:00:00+02:00"),
        # the clock goes forward at midnight: the day begins at 1
        ("day", "Asia/Beirut", "2026-03-29T12:00:00+03:00", "2026-03-29T01:00:00+03:00"),
        # and comes twice: the day begins the first time
        ("day", "America/Havana", "2026-11-01T12:00:00-05:00", "2026-11-01T00:00:00-04:00"),
        ("sec", "Europe/Berlin", "2026-11-29T00:00:01.500+00:00", "2026-11-29T00:00:01+00:00"),
    ],
)
def test_a_bucket_begins_by_the_calendar_of_its_zone(duration: str, zone: str | None, time: str, start: str) -> None:
    found = bucket_start(duration, at(time), None if zone is None else zone_named(zone))
    assert EPOCH + found * MILLISECOND == datetime.fromisoformat(start)


MOMENTS = st.datetimes(datetime(1975, 1, 1), datetime(2036, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(moment=MOMENTS, zone=st.sampled_from(ZONES), duration=st.sampled_from(DURATIONS), later=st.integers(0, 10**7))
def test_buckets_are_in_order_and_hold_their_own_start(moment: datetime, zone: str, duration: str, later: int) -> None:
    time, in_zone = milliseconds_of(moment), ZoneInfo(zone)
    start = bucket_start(duration, time, in_zone)
    assert start <= time
    assert bucket_start(duration, start, in_zone) == start
    assert bucket_start(duration, time + later, in_zone) >= start
    if duration in ("day", "week", "month", "year"):
        local = (EPOCH + start * MILLISECOND).astimezone(in_zone)
        # where the clock goes forward at midnight, the first moment of the day is later
        assert local.hour <= 1
        assert duration != "week" or local.weekday() == 0
        assert duration not in ("month", "year") or local.day == 1


@given(moment=MOMENTS, duration=st.sampled_from(DURATIONS))
def test_without_a_zone_it_is_that_of_utc(moment: datetime, duration: str) -> None:
    time = milliseconds_of(moment)
    assert bucket_start(duration, time) == bucket_start(duration, time, ZoneInfo("UTC"))


@pytest.mark.parametrize(
    ("text", "zone", "since", "until"),
    [
        ("2026-11-** **:**:**", None, "2026-11-01T00:00:00+00:00", "2026-12-01T00:00:00+00:00"),
        ("2026-11-** **:**:**", "Europe/Berlin", "2026-11-01T00:00:00+01:00", "2026-12-01T00:00:00+01:00"),
        ("2026-10-25 **:**:**", "Europe/Berlin", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"),
        # a text that says its own
        ("2026-11-** **:**:** +05:30", "Europe/Berlin", "2026-11-01T00:00:00+05:30", "2026-12-01T00:00:00+05:30"),
        ("2026-12-31 **:**:** -02:00", None, "2026-12-31T00:00:00-02:00", "2027-01-01T00:00:00-02:00"),
    ],
)
def test_times_as_people_write_them(text: str, zone: str | None, since: str, until: str) -> None:
    assert time_range(text, None if zone is None else zone_named(zone)) == (at(since), at(until))


@pytest.mark.parametrize("name", ["Europe/Berln", "", "../../etc/passwd", "/etc/localtime", "europe", "Europe"])
def test_a_zone_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="there is no time zone"):
        zone_named(name)


def test_a_time_of_no_month_says_what_it_is() -> None:
    with pytest.raises(ValueError, match=r"'2026-13-\*\* \*\*:\*\*:\*\*' is no time: month must be"):
        time_range("2026-13-** **:**:**")


def test_an_hour_is_never_longer() -> None:
    zone, start = ZoneInfo("Europe/Berlin"), at("2026-10-24T12:00:00+00:00")
    begins = {bucket_start("hour", start + minutes * 60_000, zone) for minutes in range(0, 2 * 24 * 60, 5)}
    assert len(begins) == 2 * 24
    assert {later - earlier for earlier, later in zip(sorted(begins), sorted(begins)[1:], strict=False)} == {
        timedelta(hours=1) // MILLISECOND
    }
