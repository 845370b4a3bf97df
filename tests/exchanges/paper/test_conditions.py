"""How long an order travels: always the same, or drawn, and then by seed and order alone."""

from statistics import median

import pytest

from exchanges.paper.conditions import FillConditions


def drawn(conditions: FillConditions) -> list[float]:
    return [conditions.latency_seconds(50, f"order-{number}") for number in range(1_000)]


def test_without_a_spread_it_is_constant() -> None:
    assert set(drawn(FillConditions())) == {0.05}


def test_with_a_spread_it_is_drawn_around_the_median() -> None:
    one = drawn(FillConditions(latency_spread=0.5, seed=1))
    assert one == drawn(FillConditions(latency_spread=0.5, seed=1))
    assert one != drawn(FillConditions(latency_spread=0.5, seed=2))
    assert median(one) == pytest.approx(0.05, rel=0.1)
    within = [seconds for seconds in one if 0.6 < seconds / 0.05 < 1.65]
    assert len(within) == pytest.approx(683, abs=60)
    assert min(one) > 0


@pytest.mark.parametrize(("limit", "age", "stale"), [(None, 10**12, False), (5, 5, False), (5, 6, True)])
def test_quotes_age_where_there_is_a_limit(limit: int | None, age: int, stale: bool) -> None:
    conditions = FillConditions(max_quote_age=None if limit is None else lambda: limit)
    assert conditions.is_stale(age) is stale
