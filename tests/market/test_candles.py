from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.prices.candles import (
    INTERVALS,
    PricedCandles,
    QuoteCandle,
    merged_candles,
    spread_bps,
    spread_candles,
)

SECOND = INTERVALS["1s"]
MINUTE = INTERVALS["1m"]
CARRIED = 10 * SECOND


def candle(second: int, bid: str, ask: str, quotes: int = 1) -> QuoteCandle:
    mid = (Decimal(bid) + Decimal(ask)) / 2
    return QuoteCandle(second * SECOND, mid, mid, mid, mid, Decimal(bid), Decimal(ask), quotes)


def candles(*rows: tuple[int, str, str]) -> tuple[QuoteCandle, ...]:
    return tuple(candle(*row) for row in rows)


def test_a_longer_candle_begins_with_the_first_and_ends_with_the_last() -> None:
    parts = candles((58, "9", "11"), (59, "19", "21"), (60, "4", "6"), (61, "13", "15"))
    first, second = merged_candles(parts, MINUTE)
    assert [first.open, first.high, first.low, first.close] == [10, 20, 10, 20]
    assert [second.open, second.high, second.low, second.close] == [5, 14, 5, 14]
    assert (first.start, second.start) == (0, MINUTE)
    assert [second.bid, second.ask, second.quotes] == [13, 15, 2]


prices = st.decimals("0.01", "1000000", places=2)
made = st.lists(
    st.tuples(st.integers(0, 10_000), prices, prices, st.integers(0, 9)), unique_by=lambda row: row[0], max_size=30
).map(
    lambda rows: [
        QuoteCandle(second * SECOND, bid, max(bid, ask), min(bid, ask), ask, bid, ask, quotes)
        for second, bid, ask, quotes in sorted(rows)
    ]
)


@given(made)
def test_by_way_of_minutes_an_hour_is_the_same(parts: Sequence[QuoteCandle]) -> None:
    hours = list(merged_candles(parts, INTERVALS["1h"]))
    assert list(merged_candles(merged_candles(parts, MINUTE), INTERVALS["1h"])) == hours
    assert sum(one.quotes for one in hours) == sum(one.quotes for one in parts)


@given(made)
def test_no_price_is_outside_its_candle(parts: Sequence[QuoteCandle]) -> None:
    for one in merged_candles(parts, MINUTE):
        assert one.low <= min(one.open, one.close) <= max(one.open, one.close) <= one.high


def test_a_spread_is_sampled_at_the_end_of_each_candle_once_both_have_a_price() -> None:
    buy = PricedCandles(candles((1, "99", "100"), (3, "100", "101")))
    sell = PricedCandles(candles((2, "101", "102"), (4, "99", "100")))
    (found,) = spread_candles(buy, sell, MINUTE, CARRIED)
    expected = [spread_bps(Decimal(ask), Decimal(bid)) for ask, bid in ((100, 101), (101, 101), (101, 99))]
    assert (found.open, found.high, found.low, found.close) == (
        expected[0],
        max(expected),
        min(expected),
        expected[2],
    )
    assert (found.samples, found.open) == (3, Decimal("100.0000"))


@pytest.mark.parametrize(("second", "samples"), [(11, 1), (12, 0)], ids=["still valid", "too old"])
def test_a_price_holds_for_ten_seconds(second: int, samples: int) -> None:
    buy = PricedCandles(candles((1, "99", "100")))
    sell = PricedCandles(candles((second, "101", "102")))
    assert sum(one.samples for one in spread_candles(buy, sell, MINUTE, CARRIED)) == samples


@pytest.mark.parametrize(
    ("inverted", "rate", "expected"),
    [
        # sold for 100 EUR at the bid of 1.1 USD
        (False, ("1.1", "1.2"), spread_bps(Decimal(100), Decimal(110))),
        # sold for 100 units at 0.8 a dollar's ask: 125 USD
        (True, ("0.7", "0.8"), spread_bps(Decimal(100), Decimal(125))),
    ],
)
def test_other_currencies_are_valued_at_the_side_that_a_trade_would_pay(
    inverted: bool, rate: tuple[str, str], expected: Decimal
) -> None:
    buy = PricedCandles(candles((1, "99", "100")))
    rates = candles((1, *rate))
    sell = PricedCandles(candles((1, "100", "101")), rates, inverted)
    (found,) = spread_candles(buy, sell, SECOND, CARRIED)
    assert found.close == expected


def test_without_a_rate_there_is_no_spread() -> None:
    side = candles((1, "99", "100"))
    assert list(spread_candles(PricedCandles(side), PricedCandles(side, ()), SECOND, CARRIED)) == []
    assert list(spread_candles(PricedCandles(side, ()), PricedCandles(side), SECOND, CARRIED)) == []


def test_a_rate_too_old_is_none() -> None:
    side, rate = candles((30, "99", "100")), candles((1, "1", "1"))
    late = PricedCandles(side, [replace(rate[0], start=0)])
    assert list(spread_candles(PricedCandles(side), late, SECOND, CARRIED)) == []
