from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ui.live.price_series import KEPT_POINTS, SAMPLE_MICROSECONDS, PriceSeries

SAMPLE = SAMPLE_MICROSECONDS


@given(st.lists(st.floats(1, 100_000), min_size=1, max_size=40))
def test_the_average_is_that_of_the_last_ten_mids_drawn_or_not(mids: list[float]) -> None:
    series = PriceSeries()
    for number, mid in enumerate(mids, 1):
        point = series.add(1_000, mid)
        window = mids[max(0, number - 10) : number]
        assert point.mean_mid == sum(window) / len(window)


def test_the_newest_mid_of_a_sample_is_its_point() -> None:
    series = PriceSeries()
    for time, mid in ((0, 1.0), (SAMPLE - 1, 2.0), (SAMPLE, 3.0)):
        series.add(time, mid)
    assert [(point.time, point.mid) for point in series.points()] == [(0, 2.0), (SAMPLE, 3.0)]


@given(st.lists(st.integers(0, 3_000 * SAMPLE), min_size=1, max_size=50))
def test_times_only_grow_even_where_quotes_come_late(times: list[int]) -> None:
    series = PriceSeries()
    for time in times:
        series.add(time, 1.0)
    assert all(before.time < after.time for before, after in pairwise(series.points()))


def test_it_never_keeps_more_than_its_room() -> None:
    series = PriceSeries()
    for number in range(KEPT_POINTS + 50):
        series.add(number * SAMPLE, 1.0)
    assert len(series.points()) == KEPT_POINTS
    assert series.points()[0].time == 50 * SAMPLE


def test_an_empty_series_has_no_newest_point() -> None:
    assert PriceSeries().newest is None
