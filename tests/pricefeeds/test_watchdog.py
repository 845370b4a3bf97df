import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricefeeds.quoting.watchdog import Verdict, Watchdog

LIMIT, FIRST_BOOK = 100, 250

# name: (what happened and when, now, verdict). A connection that was opened at 0.
CASES: dict[str, tuple[list[tuple[str, int]], int, Verdict]] = {
    "just opened": ([], 0, "fine"),
    "nothing at all": ([], 100, "stale"),
    "frames without a book": ([("alive", 90), ("alive", 180)], 240, "fine"),
    "frames without a book for too long": ([("alive", 90), ("alive", 180), ("alive", 240)], 250, "stale"),
    "a book": ([("alive", 10), ("book", 10)], 59, "fine"),
    "a book, then heartbeats": ([("book", 10), ("alive", 60)], 60, "doubtful"),
    "a book long ago": ([("book", 10), ("alive", 105)], 110, "stale"),
    "a book, then nothing": ([("alive", 10), ("book", 10)], 110, "stale"),
    "confirmed as of a time back": ([("book", 10), ("alive", 100), ("book", 90)], 139, "fine"),
    "confirmed, doubtful again": ([("book", 10), ("alive", 100), ("book", 90)], 140, "doubtful"),
    "confirmed as of before": ([("alive", 50), ("book", 50), ("book", 20)], 99, "fine"),
}


@pytest.mark.parametrize(("events", "now", "expected"), CASES.values(), ids=CASES.keys())
def test_verdicts(events: list[tuple[str, int]], now: int, expected: Verdict) -> None:
    assert _after(events).verdict(now) == expected


@given(st.lists(st.tuples(st.sampled_from(["alive", "book"]), st.integers(0, 60)), max_size=30), st.integers(0, 300))
def test_no_book_is_fine_that_is_older_than_the_limit(steps: list[tuple[str, int]], pause: int) -> None:
    now, events = 0, list[tuple[str, int]]()
    for name, step in steps:
        now += step
        events.append((name, now))
    held = [at for name, at in events if name == "book"]
    now += pause
    if held and now - held[-1] >= LIMIT:
        assert _after(events).verdict(now) == "stale"


def _after(events: list[tuple[str, int]]) -> Watchdog:
    watchdog = Watchdog(LIMIT, FIRST_BOOK, 0)
    for name, at in events:
        if name == "alive":
            watchdog.connection_alive(at)
        else:
            watchdog.book_held(at)
    return watchdog
