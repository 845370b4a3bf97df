"""Latencies in buckets, each arbitrage counted once."""

from dataclasses import replace

import pytest

from market.trade.arbitrages import Arbitrage
from tests.ui.samples import START, arbitrage
from ui.live.latency_histograms import BOUNDS, LatencyHistogram, TradeLatencies

MILLISECOND = 1_000


def ended(identity: str = "opportunity-1", **times: int) -> Arbitrage:
    """Return an arbitrage that has ended; `times` in milliseconds after the event."""
    steps = {"event": START} | {name: START + at * MILLISECOND for name, at in times.items()}
    return replace(arbitrage(identity, "closed"), times=steps)


@pytest.mark.parametrize(
    ("milliseconds", "bucket"), [(-5, 0), (0, 0), (1, 0), (2, 1), (50, 5), (51, 6), (10_000, 12), (10_001, 13)]
)
def test_a_duration_falls_into_the_bucket_that_ends_at_or_after_it(milliseconds: int, bucket: int) -> None:
    histogram = LatencyHistogram()
    histogram.observe(milliseconds * MILLISECOND)
    assert histogram.counts.index(1) == bucket
    assert histogram.seconds == max(0, milliseconds) / 1_000


def test_quantiles_lie_within_their_bucket() -> None:
    histogram = LatencyHistogram()
    assert histogram.quantile(0.5) is None
    for _ in range(100):
        histogram.observe(15 * MILLISECOND)
    assert histogram.quantile(0.5) == pytest.approx(0.0175)
    for _ in range(900):
        histogram.observe(60_000 * MILLISECOND)
    assert histogram.quantile(0.95) == BOUNDS[-1]


def test_stages_are_the_differences_of_an_arbitrages_times() -> None:
    latencies = TradeLatencies()
    latencies.record(ended(detected=20, reserved=45, sent=50, filled=120), {})
    seconds = {stage: histogram.seconds for stage, histogram in latencies.stages.items()}
    assert seconds == {
        "received_to_detected": 0.02,
        "detected_to_reserved": 0.025,
        "reserved_to_sent": 0.005,
        "sent_to_filled": 0.07,
    }


def test_what_did_not_happen_is_not_counted_and_nothing_twice() -> None:
    latencies = TradeLatencies()
    latencies.record(replace(ended(detected=1), state="reserved"), {})
    latencies.record(replace(ended(detected=1), strategy="ma"), {})
    assert latencies.stages["received_to_detected"].count == 0
    for _ in range(2):
        latencies.record(ended(detected=20), {})
    assert [histogram.count for histogram in latencies.stages.values()] == [1, 0, 0, 0]


def test_an_exchanges_time_is_put_right_by_what_is_known_of_its_clock() -> None:
    latencies = TradeLatencies()
    one = ended(detected=20)
    buy = replace(one.opportunity.buy, exchange_time=START + 500_000, received_time=START + 10_000)
    sell = replace(one.opportunity.sell, exchange_time=None)
    one = replace(one, opportunity=replace(one.opportunity, buy=buy, sell=sell))
    latencies.record(one, {(buy.exchange, buy.symbol): 500_000})
    assert list(latencies.arrivals) == [buy.exchange]
    assert latencies.arrivals[buy.exchange].seconds == pytest.approx(0.01)
