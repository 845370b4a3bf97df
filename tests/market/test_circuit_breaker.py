"""When failures pause an exchange, how long, and how it comes back."""

from hypothesis import given
from hypothesis import strategies as st

from market.decide.circuit_breaker import REJECTED_PAUSE_MS, Failure, Health, recent_failures, with_failure
from market.time_units import MICROSECONDS
from tests.market.samples import settings_of

SETTINGS = settings_of(breaker_failures=3, breaker_window_ms=60_000, breaker_pause_ms=30_000)
START = 1_000 * MICROSECONDS
WINDOW = 60 * MICROSECONDS
PAUSE = 30 * MICROSECONDS


def after(*moments: int, health: Health | None = None) -> Health:
    """`moments` in seconds after the start."""
    health = health or Health("alpha")
    for moment in moments:
        now = START + moment * MICROSECONDS
        health = with_failure(health, Failure(f"order-{moment}", "order_rejected"), SETTINGS, now)
    return health


def test_so_many_failures_within_the_window_pause_it_and_the_pause_ends_by_itself() -> None:
    assert not after(0, 10).is_paused(START + 10 * MICROSECONDS)
    third = START + 20 * MICROSECONDS
    paused = after(0, 10, 20)
    assert (paused.paused_until, paused.pauses) == (third + PAUSE, 1)
    assert paused.is_paused(third + PAUSE - 1)
    assert not paused.is_paused(third + PAUSE)


def test_failures_further_apart_than_the_window_do_not() -> None:
    assert after(0, 40, 80, 120).paused_until == 0
    assert after(0, 31, 60).paused_until == 0
    assert after(0, 31, 59).paused_until > 0


def test_one_that_comes_back_ill_is_paused_again_by_its_first_failure() -> None:
    assert after(0, 10, 20, 55).pauses == 2
    assert after(0, 10, 20, 90).pauses == 1


def test_a_failure_during_a_pause_prolongs_it() -> None:
    prolonged = after(0, 10, 20, 25)
    assert (prolonged.paused_until, prolonged.pauses) == (START + 25 * MICROSECONDS + PAUSE, 1)


def test_the_same_failure_reported_twice_counts_once() -> None:
    once = after(0, 10)
    assert with_failure(once, Failure("order-10", "order_rejected"), SETTINGS, START + 11 * MICROSECONDS) is once


def test_nothing_pauses_where_the_breaker_is_off() -> None:
    health = Health("alpha")
    for number in range(1_005):
        health = with_failure(health, Failure(str(number), "outcome_unknown"), settings_of(breaker_failures=0), START)
    assert health.paused_until == 0
    assert len(health.failures) == 1_000


@given(st.lists(st.integers(0, 300), max_size=30, unique=True).map(sorted), st.integers(1, 6))
def test_it_is_paused_exactly_where_a_plain_count_says_so(moments: list[int], most: int) -> None:
    settings = settings_of(breaker_failures=most, breaker_window_ms=60_000, breaker_pause_ms=30_000)
    health, until = Health("alpha"), 0
    for index, moment in enumerate(moments):
        now = START + moment * MICROSECONDS
        health = with_failure(health, Failure(str(moment), "outcome_unknown"), settings, now)
        recent = [one for one in moments[: index + 1] if moment - one < 60]
        until = now + PAUSE if len(recent) >= most else until
        assert health.paused_until == until
        assert len(recent_failures(health, settings, now)) == len(recent)


def rejected(health: Health, second: float) -> Health:
    now = START + round(second * MICROSECONDS)
    return with_failure(health, Failure(f"alpha:account_rejected:{int(second)}", "account_rejected"), SETTINGS, now)


def test_a_rejected_account_pauses_at_once_for_as_long_as_it_is_rejected_and_counts_once() -> None:
    health = rejected(Health("alpha"), 0)
    assert (health.pauses, len(health.failures)) == (1, 1)
    assert health.paused_until == START + REJECTED_PAUSE_MS * 1_000
    for second in (1, 3, 7, 15, 25):
        health = rejected(health, second)
        assert (health.pauses, len(health.failures)) == (1, 1)
    last = START + 25 * MICROSECONDS
    assert health.is_paused(last + REJECTED_PAUSE_MS * 1_000 - 1)
    assert not health.is_paused(last + REJECTED_PAUSE_MS * 1_000)


def test_a_rejected_account_never_shortens_the_pause_of_other_failures() -> None:
    paused = after(0, 10, 20)
    assert rejected(paused, 21).paused_until == paused.paused_until


def test_an_account_rejected_again_and_again_counts_as_other_failures_do() -> None:
    health = Health("alpha")
    for second in (0, 20, 40):
        health = rejected(health, second)
    assert health.paused_until == START + 40 * MICROSECONDS + PAUSE
