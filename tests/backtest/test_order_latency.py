"""The draw for an order follows from the seed and the order alone."""

from collections import Counter

import pytest

from backtest.parameters import Latency
from backtest.simulate.order_latency import is_rejected, latency_microseconds

ORDERS = [f"order-{number}" for number in range(2_000)]


@pytest.mark.parametrize(("constant_ms", "expected"), [(0.0, 0), (50.0, 50_000), (0.0005, 0), (12.3456, 12_346)])
def test_a_constant_latency_is_the_same_for_every_order(constant_ms: float, expected: int) -> None:
    assert {latency_microseconds(Latency(constant_ms), 1, order) for order in ORDERS[:5]} == {expected}


def test_recorded_latencies_come_as_often_as_they_were_recorded() -> None:
    latency = Latency(samples_ms=(10.0, 10.0, 10.0, 40.0))
    drawn = Counter(latency_microseconds(latency, 1, order) for order in ORDERS)
    assert drawn.keys() == {10_000, 40_000}
    assert 0.7 < drawn[10_000] / len(ORDERS) < 0.8
    assert [latency_microseconds(latency, 1, order) for order in ORDERS[:50]] != [
        latency_microseconds(latency, 2, order) for order in ORDERS[:50]
    ]


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0.0, 0.0), (0.1, 0.07, 0.13), (1.0, 1.0, 1.0)])
def test_a_share_of_orders_fails(share: float, least: float, most: float) -> None:
    assert least <= sum(is_rejected(share, 1, order) for order in ORDERS) / len(ORDERS) <= most


def test_whether_an_order_fails_says_nothing_about_how_long_it_travels() -> None:
    latency = Latency(samples_ms=(10.0, 40.0))
    failed = [latency_microseconds(latency, 1, order) for order in ORDERS if is_rejected(0.5, 1, order)]
    assert 0.4 < failed.count(10_000) / len(failed) < 0.6
