import random

from hypothesis import given
from hypothesis import strategies as st

from market.time_units import MICROSECONDS
from pricefeeds.quoting.clock_offset import LEAK, ClockOffset, ClockSamples

HOUR = 3_600 * MICROSECONDS


def test_the_quickest_message_gives_the_offset() -> None:
    offset = ClockOffset()
    assert offset.value is None
    for exchange_time, now in ((100, 150), (200, 220), (300, 390)):
        offset.add_message(exchange_time, now)
    assert offset.value == -20


def test_what_messages_reported_is_taken_back_slowly_so_that_drifting_clocks_are_followed() -> None:
    offset = ClockOffset()
    offset.add_message(0, 0)
    offset.add_message(LEAK * 10 - 100, LEAK * 10)
    assert offset.value == -10


def test_a_message_from_the_future_shows_that_the_clock_was_set() -> None:
    offset = ClockOffset()
    offset.measure(5, 1)
    offset.add_message(HOUR, 10)
    assert (offset.value, offset.is_measured) == (HOUR - 10, True)
    offset.measure(6, 20)
    assert offset.value == 6


@given(
    skew=st.integers(-HOUR, HOUR),
    delays=st.lists(st.tuples(st.integers(1, 400_000), st.integers(1, 400_000)), min_size=1, max_size=20),
    step=st.sampled_from([1, 1_000, MICROSECONDS]),
    seed=st.integers(0, 1_000),
)
def test_readings_bound_the_offset_by_their_delays(
    skew: int, delays: list[tuple[int, int]], step: int, seed: int
) -> None:
    """However the delay is split between the two ways, and if the exchange cuts its time to whole seconds."""
    samples, chance, now, offset = ClockSamples(), random.Random(seed), 10 * HOUR, 0
    for there, back in delays:
        now += chance.randrange(10 * MICROSECONDS)
        shown = (now + there + skew) // step * step
        offset = samples.add(now, now + there + back, shown, step)
        now += there + back
    quickest = min(there + back for there, back in delays)
    assert abs(offset - skew) <= (quickest + step) // 2 + 1


def test_readings_that_contradict_one_another_leave_the_newest() -> None:
    samples = ClockSamples()
    assert samples.add(0, 100, 50, 1) == 0
    assert abs(samples.add(1_000, 1_100, 1_050 + HOUR, 1) - HOUR) <= 1
