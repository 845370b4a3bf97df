import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricefeeds.quoting.watchdog import Verdict, Watchdog

LIMIT, FIRST_BOOK = 100, 250

# name: (what happened and when, now, verdict). A connection that was opened at 0.
CASES: dict[str, tuple[list[tuple[str, int]], int, Verdict]] = {
    "just opened": ([], 0, "fine"),
    "nothing at all": ([], 100, "stale"),
    "frames without a book": ([("hear", 90), ("hear", 180)], 240, "fine"),
    "frames without a book for too long": ([("hear", 90), ("hear", 180), ("hear", 240)], 250, "stale"),
    "a book": ([("hear", 10), ("hold", 10)], 59, "fine"),
    "a book, then heartbeats": ([("hold", 10), ("hear", 60)], 60, "doubtful"),
    "a book long ago": ([("hold", 10), ("hear", 105)], 110, "stale"),
    "a book, then nothing": ([("hear", 10), ("hold", 10)], 110, "stale"),
    "confirmed as of a time back": ([("hold", 10), ("hear", 100), ("hold", 90)], 139, "fine"),
    "confirmed, doubtful again": ([("hold", 10), ("hear", 100), ("hold", 90)], 140, "doubtful"),
    "confirmed as of before": ([("hear", 50), ("hold", 50), ("hold", 20)], 99, "fine"),
}


@pytest.mark.parametrize(("events", "now", "expected"), CASES.values(), ids=CASES.keys())
def test_verdicts(events: list[tuple[str, int]], now: int, expected: Verdict) -> None:
    assert _after(events).verdict(now) == expected


@given(st.lists(st.tuples(st.sampled_from(["hear", "hold"]), st.integers(0, 60)), max_size=30), st.integers(0, 300))
def test_no_book_is_fine_that_is_older_than_the_limit(steps: list[tuple[str, int]], pause: int) -> None:
    now, events = 0, list[tuple[str, int]]()
    for name, step in steps:
        now += step
        events.append((name, now))
    held = [at for name, at in events if name == "hold"]
    now += pause
    if held and now - held[-1] >= LIMIT:
        assert _after(events).verdict(now) == "stale"


def _after(events: list[tuple[str, int]]) -> Watchdog:
    watchdog = Watchdog(LIMIT, FIRST_BOOK, 0)
    for name, at in events:
        if name == "hear":
            watchdog.hear(at)
        else:
            watchdog.hold(at)
    return watchdog
