from hypothesis import given
from hypothesis import strategies as st

from session.access_terms import RateTerms
from ui.auth.rate_buckets import MAX_BUCKETS, Rates


class Time:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def test_a_burst_passes_and_then_so_many_a_second() -> None:
    time = Time()
    rates = Rates(RateTerms(per_second=2, burst=3), time)
    assert [rates.take("desk") for _ in range(4)] == [0, 0, 0, 0.5]
    time.now += 499_999
    assert rates.take("desk") > 0
    time.now += 1
    assert rates.take("desk") == 0
    assert rates.take("desk") == 0.5


def test_each_name_has_its_own() -> None:
    rates = Rates(RateTerms(1, 1), Time())
    assert (rates.take("one"), rates.take("other"), rates.take("one")) == (0, 0, 1)


def test_memory_is_bounded() -> None:
    rates = Rates(RateTerms(1, 1), Time())
    for number in range(MAX_BUCKETS + 100):
        rates.take(f"address {number}")
    assert len(rates._buckets) == MAX_BUCKETS


@given(st.lists(st.integers(0, 3_000_000), max_size=60), st.integers(1, 20), st.floats(0.1, 50))
def test_never_more_than_the_burst_and_what_was_gained(steps: list[int], burst: int, per_second: float) -> None:
    time = Time()
    rates = Rates(RateTerms(per_second, burst), time)
    passed = 0
    for step in steps:
        time.now += step
        wait = rates.take("desk")
        passed += wait == 0
        assert wait <= 1 / per_second
    assert passed <= burst + time.now / 1_000_000 * per_second + 1e-6
