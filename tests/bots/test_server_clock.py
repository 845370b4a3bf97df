"""The store's clock as a process knows it: never behind it, and about what it is."""

from hypothesis import given
from hypothesis import strategies as st

from bots.server_clock import RESOLUTION, ServerClock
from tests.store.conftest import SteppedClock

SECOND = 1_000_000


def test_before_the_first_answer_nothing_is_known() -> None:
    clock = ServerClock(SteppedClock().now)
    assert clock.latest() is None
    assert clock.about() is None


def test_it_counts_from_before_the_question() -> None:
    """However long the answer was on its way, it may have been given at once."""
    steady = SteppedClock()
    clock, asked_at = ServerClock(steady.now), steady.now()
    steady.time += 5 * SECOND
    clock.observe(1_000 * SECOND, asked_at)
    assert clock.latest() == 1_005 * SECOND + RESOLUTION
    steady.time += SECOND
    assert clock.latest() == 1_006 * SECOND + RESOLUTION


def test_the_newest_answer_counts_also_where_the_clock_was_set_back() -> None:
    steady = SteppedClock()
    clock = ServerClock(steady.now)
    clock.observe(1_000 * SECOND, steady.now())
    clock.observe(900 * SECOND, steady.now())
    assert clock.latest() == 900 * SECOND + RESOLUTION


@given(steps=st.lists(st.tuples(st.integers(0, SECOND), st.integers(0, SECOND), st.integers(0, SECOND)), min_size=1))
def test_it_is_never_behind_whatever_the_delays(steps: list[tuple[int, int, int]]) -> None:
    """Never lag behind. Each step has a question's delay, its answer's, and the time that passed after that."""
    steady, ahead, quickest = SteppedClock(), 123_456_789, 2 * SECOND
    clock = ServerClock(steady.now)
    for there, back, after in steps:
        asked_at = steady.now()
        steady.time += there
        # it tells whole milliseconds
        told = (steady.now() + ahead) // RESOLUTION * RESOLUTION
        steady.time += back
        clock.observe(told, asked_at)
        steady.time += after
        latest = clock.latest()
        assert latest is not None
        assert steady.now() + ahead <= latest <= steady.now() + ahead + there + RESOLUTION
        about = clock.about()
        assert about is not None
        assert about <= latest
        quickest = min(quickest, there + back)
        assert abs(about - (steady.now() + ahead)) <= quickest + RESOLUTION


def test_a_long_answer_after_a_short_one_leaves_the_estimate() -> None:
    steady = SteppedClock()
    clock = ServerClock(steady.now)
    clock.observe(1_000 * SECOND, steady.now())
    asked_at = steady.now()
    steady.time += SECOND // 2
    clock.observe(1_000 * SECOND + SECOND // 2, asked_at)
    assert clock.about() == 1_000 * SECOND + SECOND // 2 + RESOLUTION // 2


def test_the_estimate_follows_a_clock_that_was_set() -> None:
    steady = SteppedClock()
    clock = ServerClock(steady.now)
    clock.observe(1_000 * SECOND, steady.now())
    clock.observe(900 * SECOND, steady.now())
    assert clock.about() == 900 * SECOND + RESOLUTION // 2
