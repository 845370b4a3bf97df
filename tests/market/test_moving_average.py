"""The strategy's signals against the original's definition, written down a second time."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.apps.hosts.average_app import shipped_average_app
from market.money import Price
from market.trade.moving_average import (
    AverageOrder,
    AverageRule,
    AverageState,
    AverageTrade,
    Close,
    MovingAverage,
    TradeType,
    after_close,
    period_of,
    with_order,
)
from tests.market.average_rules import app_rule, naive_rule

LEAD_LAG = Path(__file__).parents[2] / ".." / "shared" / "data" / "ticks" / "lead-lag"
RECORDED = {
    "bitflyerJPY_2018-08-12_small.csv": 17_507,
    "btcboxJPY_2018-08-12_small.csv": 10_516,
}
CLOSE = Close("alpha", "us", "BTC/USD", Price(Decimal(5)), 10_000_000, 10_250_000, "eu")
Signals = list[TradeType | None]

PRICES = st.decimals(min_value="-1e9", max_value="1e12", places=8, allow_nan=False, allow_infinity=False)
STILL = st.sampled_from([Decimal(text) for text in ("0.1", "0.2", "0.3", "0.7", "1.1")])


def signals(closes: Sequence[Decimal], rule: AverageRule | None = None) -> Signals:
    """Return what the strategy says at each close, from one process to its end."""
    rule = rule or shipped_average_app()
    average, said = MovingAverage(), Signals()
    for price in closes:
        average, crossing = rule(average, replace(CLOSE, price=Price(price)))
        said.append(None if crossing is None else crossing.trade_type)
    return said


def oracle(closes: Sequence[Decimal]) -> Signals:
    """mean_n over c[max(1, n-9) … n]; BUY if s[n-1] = -1 and s[n] = +1, SELL if s[n-1] = +1 and s[n] = -1."""
    exact = [Fraction(*close.as_integer_ratio()) for close in closes]
    signs = []
    for n in range(1, len(exact) + 1):
        window = exact[max(1, n - 9) - 1 : n]
        mean = sum(window) / Fraction(len(window))
        signs.append((exact[n - 1] > mean) - (exact[n - 1] < mean))
    crossings: dict[tuple[int, int], TradeType] = {(-1, 1): "BUY", (1, -1): "SELL"}
    return [None, *(crossings.get(pair) for pair in pairwise(signs))][: len(signs)]


def in_doubles(closes: Sequence[Decimal]) -> Signals:
    """As the original's engine computed: a running sum of doubles, the oldest taken off again."""
    said: Signals = []
    sign, total, window = 0, 0.0, list[float]()
    for close in map(float, closes):
        total += close
        window.append(close)
        if len(window) > 10:
            total -= window.pop(0)
        before, mean = sign, total / len(window)
        sign = (close > mean) - (close < mean)
        said.append("BUY" if (before, sign) == (-1, 1) else "SELL" if (before, sign) == (1, -1) else None)
    return said


@given(st.lists(PRICES, max_size=60))
def test_any_closes_give_the_signals_of_the_definition(closes: list[Decimal]) -> None:
    assert signals(closes) == oracle(closes)


@settings(max_examples=25)  # to compile an app takes long
@given(st.lists(STILL | PRICES, max_size=40), st.data())
def test_any_process_goes_on_as_if_there_had_been_one(closes: list[Decimal], data: st.DataObject) -> None:
    """Processes take over, and transactions are lost after the rule was asked."""
    average, by_naive, rule = MovingAverage(), MovingAverage(), shipped_average_app()
    for price in closes:
        close = replace(CLOSE, price=Price(price))
        for _ in range(data.draw(st.integers(0, 2), "lost")):
            rule(average, replace(close, price=Price(data.draw(STILL))))
        if data.draw(st.booleans(), "takeover"):
            rule = shipped_average_app()
        (average, crossing), (by_naive, expected) = rule(average, close), naive_rule(by_naive, close)
        assert (average, crossing) == (by_naive, expected)


@given(st.lists(STILL, max_size=60))
def test_closes_that_often_stand_on_their_mean(closes: list[Decimal]) -> None:
    assert signals(closes) == oracle(closes)


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, min_value="-1e40", max_value="1e40"), max_size=25))
def test_closes_with_more_digits_than_decimals_keep(closes: list[Decimal]) -> None:
    assert signals(closes) == oracle(closes)


@pytest.mark.parametrize(
    ("closes", "expected"),
    [
        ((), []),
        (("5",), [None]),
        (("5", "4"), [None, None]),  # the first stands on its own mean: no sequence yet
        (("5", "4", "6"), [None, None, "BUY"]),
        (("5", "6", "4"), [None, None, "SELL"]),
        (("5", "4", "4.5", "6"), [None, None, None, None]),  # 4.5 is the mean of all three: the sequence breaks
        (("5", "4", "6", "4"), [None, None, "BUY", "SELL"]),
        (("5", "4", "3"), [None, None, None]),
    ],
)
def test_sequences(closes: tuple[str, ...], expected: Signals) -> None:
    assert signals([Decimal(close) for close in closes]) == expected == oracle([Decimal(close) for close in closes])


def test_an_eleventh_close_forgets_the_first() -> None:
    """With it the mean would be 100, without it is 10."""
    rule, average = app_rule(), MovingAverage()
    for price in ("1000", *("10",) * 10):
        average, _ = rule(average, replace(CLOSE, price=Price(Decimal(price))))
    assert average == MovingAverage((Decimal(10),) * 10, 0)


def test_doubles_cross_where_the_price_stands_still() -> None:
    """Why the mean is never a double: the oldest price taken off again leaves its rounding in the sum."""
    closes = [Decimal(text) for text in ("0.3", "0.1", "0.2", *("0.1",) * 40, "0.2", *("0.1",) * 40)]
    assert in_doubles(closes) != oracle(closes) == signals(closes)


@pytest.mark.parametrize(("name", "rows"), RECORDED.items())
def test_a_recorded_day(name: str, rows: int) -> None:
    path = LEAD_LAG / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with path.open() as file:
        closes = [Decimal(row["last"]) for row in csv.DictReader(file)]
    said = signals(closes)
    assert len(closes) == rows
    assert said == oracle(closes)
    assert {"BUY", "SELL"} <= set(said)


NOW = 11_000_000


def recorded_all(prices: Sequence[str], note: Callable[[int], int] = lambda index: index) -> tuple[AverageState, int]:
    """Return the state after these closes, one a period, and how many trades there were."""
    state, trades = AverageState(), 0
    for index, price in enumerate(prices, start=1):
        close = replace(CLOSE, price=Price(Decimal(price)), period=note(index) * 5_000_000)
        state, trade = after_close(state, close, app_rule(), NOW, with_order=False)
        trades += trade is not None
    return state, trades


def test_a_crossing_has_all_fields_of_the_original() -> None:
    state, _ = recorded_all(("5", "4"))
    close = replace(CLOSE, price=Price(Decimal(6)), period=15_000_000)
    after, trade = after_close(state, close, app_rule(), NOW, with_order=True)
    assert after == AverageState(15_000_000, MovingAverage((Decimal(5), Decimal(4), Decimal(6)), 1))
    assert trade == AverageTrade(
        trade_id="alpha|BTC/USD|15000000",
        exchange="alpha",
        quote_region="us",
        symbol="BTC/USD",
        timestamp=10_250_000,
        trade_location="eu",
        trade_price=Price(Decimal(6)),
        trade_strategy="MA Trading",
        trade_type="BUY",
        average=Decimal(5),
        at=NOW,
        order=AverageOrder("wanted"),
        closes=(Decimal(5), Decimal(4)),
    )


def test_of_one_period_only_the_first_close_counts() -> None:
    state, trades = recorded_all(("5", "4", "6", "7"), note=lambda index: min(index, 2))
    assert (len(state.average.closes), trades) == (2, 0)
    again = after_close(
        state, replace(CLOSE, price=Price(Decimal(9)), period=state.period), app_rule(), NOW, with_order=False
    )
    assert again == (state, None)


@pytest.mark.parametrize(
    ("now", "expected"), [(0, 0), (4_999_999, 0), (5_000_000, 5_000_000), (12_000_000, 10_000_000)]
)
def test_periods_begin_at_whole_intervals(now: int, expected: int) -> None:
    assert period_of(now, 5_000) == expected


def test_what_became_of_an_order_is_said_once() -> None:
    _, trade = after_close(
        recorded_all(("5", "4"))[0],
        replace(CLOSE, price=Price(Decimal(6)), period=15_000_000),
        app_rule(),
        NOW,
        with_order=True,
    )
    assert trade is not None
    rejected = with_order(trade, AverageOrder("rejected", "stale"))
    assert rejected.order == AverageOrder("rejected", "stale")
    assert with_order(rejected, AverageOrder("open")) == rejected
    assert with_order(replace(trade, order=None), AverageOrder("open")).order is None
