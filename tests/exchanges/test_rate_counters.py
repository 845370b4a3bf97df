"""How exchanges count: no stretch of time ever has more than its limit, and parts are no more than the whole."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchanges.rate_counters import SLOTS, Limit, Used, counter, window
from market.time_units import MICROSECONDS

LIMITS = st.sampled_from((window(5, 10), window(1, 1), counter(5, "0.5"), counter(12, "2.34")))


@pytest.mark.parametrize(
    ("limit", "seconds", "left"),
    [
        (window(3, 10), (0, 1, 9), [2, 1, 0]),
        (window(3, 10), (0, 1, 9, 10), [2, 1, 0, 0]),
        (window(3, 10), (0, 1, 9, 11, 30), [2, 1, 0, 1, 2]),
        (counter(3, "0.5"), (0, 0, 0), [2, 1, 0]),
        (counter(3, "0.5"), (0, 0, 0, 1), [2, 1, 0, Fraction(-1, 2)]),
        (counter(3, "0.5"), (0, 0, 60), [2, 1, 2]),
    ],
)
def test_what_is_left(limit: Limit, seconds: tuple[int, ...], left: list[Fraction | int]) -> None:
    used, seen = Used(limit), []
    for second in seconds:
        used.add(1, second * MICROSECONDS)
        seen.append(used.left(second * MICROSECONDS))
    assert seen == left


def handed_on(used: Used, now: int) -> Used:
    """To another process."""
    following = Used(used.limit)
    for ms_ago, weight in used.rows(now):
        following.add(weight, now - ms_ago * 1_000)
    return following


@given(LIMITS, st.lists(st.tuples(st.integers(0, 4 * MICROSECONDS), st.integers(1, 3), st.booleans()), max_size=60))
def test_who_waits_as_long_as_it_must_never_asks_too_much(limit: Limit, asked: list[tuple[int, int, bool]]) -> None:
    """Nor do all those together that take over from each other."""
    used, now, taken = Used(limit), 0, []
    for pause, wanted, is_handed_on in asked:
        if is_handed_on:
            used = handed_on(used, now)
        weight = min(wanted, limit.maximum)
        now += pause
        now += int(used.seconds_until(weight, now) * MICROSECONDS) + 1
        assert used.left(now) >= weight
        used.add(weight, now)
        taken.append((now, weight))
    for end, _ in taken:
        for begin, _ in taken:
            if limit.how == "window" and 0 <= end - begin < limit.seconds * MICROSECONDS:
                assert sum(weight for when, weight in taken if begin <= when <= end) <= limit.maximum
            if limit.how == "counter" and begin <= end:
                run_down = Fraction(end - begin, MICROSECONDS) * limit.maximum / limit.seconds
                assert sum(weight for when, weight in taken if begin <= when <= end) <= limit.maximum + run_down


@given(
    LIMITS,
    st.lists(st.tuples(st.integers(0, 2 * MICROSECONDS), st.integers(1, 3)), max_size=30),
    st.integers(0, 20 * MICROSECONDS),
)
def test_handed_on_nothing_is_free_sooner_and_little_of_it_later(
    limit: Limit, spent: list[tuple[int, int]], later: int
) -> None:
    used, now = Used(limit), 0
    for pause, weight in spent:
        now += pause
        used.add(weight, now)
    assert len(used.rows(now)) <= SLOTS
    following, then = handed_on(used, now), now + later
    # a slot of a window, and the millisecond that is rounded
    delay = 1_000 + (int(limit.seconds * MICROSECONDS) // SLOTS if limit.how == "window" else 0)
    assert following.level(then) >= used.level(then)
    assert following.level(then + delay) <= used.level(then)


@given(LIMITS, st.fractions(Fraction(1, 4), Fraction(3, 4)))
def test_parts_are_no_more_than_the_whole(limit: Limit, share: Fraction) -> None:
    one, other = limit.share_of(share), limit.share_of(1 - share)
    if limit.maximum * min(share, 1 - share) < 1:
        return
    assert one.maximum + other.maximum <= limit.maximum
    assert (
        sum(Fraction(share_of.maximum) / share_of.seconds for share_of in (one, other))
        <= Fraction(limit.maximum) / limit.seconds
    )


@given(LIMITS, st.fractions(Fraction(1, 10), Fraction(1, 2)), st.integers(0, 40))
def test_one_that_is_steady_keeps_to_its_window_and_a_restart_forgets_little(
    limit: Limit, at_once: Fraction, seconds: int
) -> None:
    as_counter = limit.as_counter(at_once)
    if limit.how == "counter" or limit.maximum < 2:
        return
    now, taken = 0, 0
    # used up and started again after so many seconds, used up again: within one window
    for used in (Used(as_counter), Used(as_counter)):
        until = now + min(seconds * MICROSECONDS, int(limit.seconds * MICROSECONDS) // 2 - 1)
        while True:
            now += math.ceil(used.seconds_until(1, now) * MICROSECONDS)
            if now > until:
                break
            used.add(1, now)
            taken += 1
        now = until
    assert taken <= limit.maximum + as_counter.maximum
