"""Counting the stream: by span, by pair, and how long opportunities lived."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from market.prices.opportunities import Opportunity
from tests.ui.samples import START, opportunity
from ui.live.opportunity_census import KEPT_RUNS, KEPT_SLOTS, SLOT_MICROSECONDS, OpportunityCensus

SECOND = 1_000_000
ONE_WAY = ("BTC", "alpha", "BTC/USD", "beta", "BTC/EUR")
OTHER_WAY = ("BTC", "beta", "BTC/EUR", "alpha", "BTC/USD")


def seen(at: int, net_bps: float = 5.0) -> Opportunity:
    """`at` in microseconds after the start; it expires a second later."""
    made = opportunity("any", net_bps, START + at)
    return replace(made, expires_at=START + at + SECOND)


def turned(of: Opportunity) -> Opportunity:
    return replace(of, buy=of.sell, sell=of.buy)


#   0     0.4    1.2          2.3   2.3001
# --x------x------x-------------x-----o---->   gaps over 1 s end a run
#   [   first run  ]            [ second (the other direction is a run of its own)
def test_a_run_goes_on_until_its_last_has_expired() -> None:
    census = OpportunityCensus()
    for at in (0, 400_000, 1_200_000, 2_300_000):
        census.record(seen(at, net_bps=at / 100_000))
    census.record(turned(seen(2_300_100)))
    counted = census.counted(START + 2_400_000, None)
    assert [(run.pair, run.end - run.start, run.samples, run.best_net_bps) for run in counted.runs] == [
        (ONE_WAY, 1_200_000, 3, 12.0)
    ]
    assert counted.alive == 2
    later = census.counted(START + 4 * SECOND, None)
    assert [(run.pair, run.end - run.start, run.samples) for run in later.runs] == [
        (ONE_WAY, 1_200_000, 3),
        (ONE_WAY, 0, 1),
        (OTHER_WAY, 0, 1),
    ]
    assert later.alive == 0


def test_a_span_begins_at_a_half_minute_and_a_session_has_all() -> None:
    census = OpportunityCensus()
    half_hours = [seen(number * 1_800 * SECOND) for number in range(10)]
    for one in half_hours:
        census.record(one)
    now = half_hours[-1].event_time
    assert census.counted(now, None).bins[ONE_WAY].total() == 10
    assert census.counted(now, None).since == START
    hour = census.counted(now, now - 3_600 * SECOND)
    assert hour.bins[ONE_WAY].total() == 3
    assert hour.since == now - 3_600 * SECOND - (now - 3_600 * SECOND) % SLOT_MICROSECONDS
    assert [run.start for run in hour.runs] == [one.event_time for one in half_hours[-3:-1]]
    assert census.counted(now, now).bins[ONE_WAY].total() == 1


def test_nothing_seen_is_counted_from_now() -> None:
    counted = OpportunityCensus().counted(START, START - SECOND)
    assert (counted.since, counted.bins, counted.runs, counted.alive) == (START, {}, (), 0)


def test_the_room_is_bounded() -> None:
    census = OpportunityCensus()
    for number in range(KEPT_RUNS + 10):
        census.record(seen(number * 2 * SECOND))
    counted = census.counted(START + 10**12, None)
    assert len(counted.runs) <= KEPT_RUNS + 1
    assert counted.bins[ONE_WAY].total() == KEPT_RUNS + 10
    assert len(census._slots) <= KEPT_SLOTS


@given(st.lists(st.tuples(st.integers(0, 10**9), st.floats(-20, 900)), min_size=1, max_size=60), st.integers(0, 10**9))
def test_every_one_is_in_one_bin_and_one_run(rows: list[tuple[int, float]], since: int) -> None:
    census = OpportunityCensus()
    for at, net_bps in sorted(rows):
        census.record(seen(at, net_bps))
    counted = census.counted(START + 10**10, None)
    assert sum(run.samples for run in counted.runs) == counted.bins[ONE_WAY].total() == len(rows)
    assert all(run.end >= run.start for run in counted.runs)
    least = min(counted.bins[ONE_WAY]) / 2
    assert least <= min(net_bps for _, net_bps in rows) < least + 0.5
    part = census.counted(START + 10**10, START + since)
    assert part.bins.get(ONE_WAY, {}).keys() <= counted.bins[ONE_WAY].keys()
    exact = sum(at >= since for at, _ in rows)
    assert exact <= sum(counts.total() for counts in part.bins.values()) <= len(rows)
