"""Which books are too old to be quotes: by the exchange's clock, corrected, and by what is known besides."""

from dataclasses import replace

import pytest

from market.prices.book_top import BookTop
from market.time_units import MICROSECONDS
from pricefeeds.quoting.symbol_feed import RejectedQuote, Row, SymbolFeed
from tests.pricefeeds.samples import MARKET, book

SECOND = MICROSECONDS
HOUR = 3_600 * SECOND
START = 10 * HOUR


def feed() -> SymbolFeed:
    return SymbolFeed(MARKET, 0, START, late_after=3 * SECOND)


def at(exchange_time: int | None, ask: str = "101") -> BookTop:
    return replace(book("100", ask), exchange_time=exchange_time)


def kinds(rows: list[Row]) -> list[str]:
    return [row.reason if isinstance(row, RejectedQuote) else row.kind for row in rows]


# name: (measured offset in s, age of the second book in s by the exchange's own time, what comes out)
AGES: dict[str, tuple[float, float | None, list[str]]] = {
    "fresh": (0, 0.1, ["quote"]),
    "just in time": (0, 3, ["quote"]),
    "late": (0, 3.000001, ["late", "withdrawn"]),
    "late by a clock that is behind": (-60, 60 + 2.9, ["quote"]),
    "late by a clock that is ahead": (60, -60 + 3.1, ["late", "withdrawn"]),
    "no time given": (0, None, ["quote"]),
    "from the future": (0, -HOUR / SECOND, ["quote"]),
}


@pytest.mark.parametrize(("offset", "age", "expected"), AGES.values(), ids=AGES.keys())
def test_a_book_that_is_older_than_the_limit_is_late(offset: float, age: float | None, expected: list[str]) -> None:
    one = feed()
    one.correct(int(offset * SECOND), START)
    one.take(at(None), START)
    now = START + 60 * SECOND
    assert kinds(one.take(at(None if age is None else now - int(age * SECOND), "102"), now)) == expected
    assert one.clock_is_doubtful is ("late" in expected or age == -HOUR / SECOND)


def test_the_first_book_of_a_connection_is_as_new_as_the_asking() -> None:
    """A market in which nothing has happened for an hour sends a book of that time."""
    one = feed()
    one.correct(0, START)
    one.begin(START)
    assert kinds(one.take(at(START - HOUR), START + SECOND)) == ["quote"]
    assert kinds(one.take(at(START - HOUR, "102"), START + 2 * SECOND)) == ["late", "withdrawn"]
    one.begin(START + 10 * SECOND)
    assert kinds(one.take(at(START), START + 14 * SECOND)) == ["late"]


def test_without_a_measured_clock_the_quickest_message_is_what_others_are_held_against() -> None:
    one = feed()
    one.take(at(START + HOUR), START)
    assert one.state.offset_us == HOUR
    assert kinds(one.take(at(START + HOUR + 6 * SECOND, "102"), START + 9 * SECOND)) == ["quote"]
    assert kinds(one.take(at(START + HOUR + 6 * SECOND, "103"), START + 10 * SECOND)) == ["late", "withdrawn"]


def test_a_confirmed_book_is_published_again_and_its_time_shows_that_the_clock_was_set() -> None:
    one = feed()
    one.take(at(START), START)
    now = START + 10 * SECOND
    assert kinds(one.take(at(now - HOUR, "102"), now)) == ["late", "withdrawn"]
    assert kinds(one.confirm(now + 1, now + 2)) == ["quote"]
    assert one.state.offset_us == -HOUR
    assert kinds(one.take(at(now + SECOND - HOUR, "103"), now + SECOND)) == ["quote"]


def test_where_the_clock_is_measured_only_measuring_corrects_it() -> None:
    one = feed()
    one.correct(0, START)
    now = START + 10 * SECOND
    one.take(at(now - HOUR), now)
    assert kinds(one.confirm(now, now + 1)) == ["quote"]
    assert kinds(one.take(at(now + 1 - HOUR, "102"), now + 2)) == ["late", "withdrawn"]
    one.correct(-HOUR, now + 3)
    assert one.clock_is_doubtful is False
    assert kinds(one.take(at(now + 4 - HOUR, "102"), now + 5)) == ["quote"]


def test_what_was_confirmed_too_long_ago_is_late() -> None:
    one = feed()
    one.correct(0, START)
    one.take(at(START), START)
    assert kinds(one.confirm(START + SECOND, START + 5 * SECOND)) == ["late", "withdrawn"]


def test_a_quiet_book_is_confirmed_without_a_row() -> None:
    one = feed()
    assert one.confirm(START, START) == []
    one.take(at(START), START)
    assert one.confirm(START + 60 * SECOND, START + 60 * SECOND) == []
    assert one.last_accepted == START + 60 * SECOND
    one.begin(START + 70 * SECOND)
    assert one.confirm(START + 70 * SECOND, START + 70 * SECOND) == []
    assert one.last_accepted == START + 60 * SECOND
