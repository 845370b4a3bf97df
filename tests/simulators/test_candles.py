"""Candles of any length are those of a plain list of trades, and no time is left out if none may be."""

import itertools
from collections import deque
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.time_units import MICROSECONDS
from simulators.matching.candles import MONTH, WEEK_FROM_MONDAY, Candle, Candles, Interval
from simulators.matching.order_records import PublicTrade

HOUR = 3_600
START = 1_700_000_000 * MICROSECONDS
INTERVALS = [Interval(1), Interval(60), Interval(300), Interval(HOUR), Interval(4 * HOUR), WEEK_FROM_MONDAY, MONTH]
rows = st.lists(
    st.tuples(st.integers(0, 2 * HOUR * MICROSECONDS), st.integers(1, 500), st.integers(1, 50), st.booleans()),
    min_size=1,
    max_size=30,
)


def trades_of(rows: list[tuple[int, int, int, bool]]) -> list[PublicTrade]:
    trades, now = [], START
    for number, (later, price, amount, is_buy) in enumerate(rows):
        now += later
        side = "buy" if is_buy else "sell"
        trades.append(PublicTrade(number, "BTC/USD", side, Decimal(price), Decimal(amount), now))  # type: ignore[arg-type]
    return trades


def candles_of(trades: list[PublicTrade]) -> Candles:
    candles = Candles(deque(trades))
    for trade in trades:
        candles.add(trade)
    return candles


def expected(interval: Interval, trades: list[PublicTrade]) -> list[Candle]:
    by_start: dict[int, list[PublicTrade]] = {}
    for trade in trades:
        by_start.setdefault(interval.start(trade.traded_at), []).append(trade)
    candles = []
    for began, own in by_start.items():
        prices, bought = [trade.price for trade in own], [trade for trade in own if trade.side == "buy"]
        candles.append(
            Candle(
                began=began,
                open=prices[0],
                high=max(prices),
                low=min(prices),
                close=prices[-1],
                volume=sum((trade.amount for trade in own), Decimal(0)),
                value=sum((trade.price * trade.amount for trade in own), Decimal(0)),
                bought=sum((trade.amount for trade in bought), Decimal(0)),
                bought_value=sum((trade.price * trade.amount for trade in bought), Decimal(0)),
                count=len(own),
                first=own[0].number,
                last=own[-1].number,
            )
        )
    return candles


@given(rows, st.sampled_from(INTERVALS))
def test_candles_are_those_of_the_trades(rows: list[tuple[int, int, int, bool]], interval: Interval) -> None:
    trades = trades_of(rows)
    candles, wanted = candles_of(trades), expected(interval, trades)
    assert candles.traded(interval) == wanted
    for candle in wanted:
        assert candles.at(interval, candle.began) == candle


@given(rows, st.sampled_from(INTERVALS[1:]))
def test_flat_candles_stand_where_nothing_was_traded(
    rows: list[tuple[int, int, int, bool]], interval: Interval
) -> None:
    trades = trades_of(rows)
    candles, now = candles_of(trades), trades[-1].traded_at + 5 * HOUR * MICROSECONDS
    found = candles.unbroken(interval, now)
    assert [candle for candle in found if candle.count] == candles.traded(interval)
    assert found[-1].began == interval.start(now)
    for before, after in itertools.pairwise(found):
        assert after.began == interval.after(before.began)
        if not after.count:
            assert (after.open, after.high, after.low, after.close) == (before.close,) * 4
            assert after.volume == after.value == 0


@pytest.mark.parametrize(
    ("interval", "moment", "began", "following"),
    [
        (Interval(60), "2026-05-06T07:08:09", "2026-05-06T07:08:00", "2026-05-06T07:09:00"),
        (Interval(4 * HOUR), "2026-05-06T07:08:09", "2026-05-06T04:00:00", "2026-05-06T08:00:00"),
        (Interval(7 * 24 * HOUR), "2026-05-06T07:08:09", "2026-04-30T00:00:00", "2026-05-07T00:00:00"),
        (WEEK_FROM_MONDAY, "2026-05-06T07:08:09", "2026-05-04T00:00:00", "2026-05-11T00:00:00"),
        (WEEK_FROM_MONDAY, "2026-05-04T00:00:00", "2026-05-04T00:00:00", "2026-05-11T00:00:00"),
        (MONTH, "2026-12-31T23:59:59", "2026-12-01T00:00:00", "2027-01-01T00:00:00"),
        (MONTH, "2026-02-01T00:00:00", "2026-02-01T00:00:00", "2026-03-01T00:00:00"),
    ],
)
def test_intervals_begin_where_the_calendar_has_them(
    interval: Interval, moment: str, began: str, following: str
) -> None:
    assert interval.start(micros(moment)) == micros(began)
    assert interval.after(micros(began)) == micros(following)


def micros(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * MICROSECONDS


def test_the_oldest_candle_is_left_out_where_its_beginning_is_forgotten() -> None:
    minute = 60 * MICROSECONDS
    trades = [
        PublicTrade(
            number, "BTC/USD", "buy", Decimal(number + 1), Decimal(1), START // minute * minute + number * minute
        )
        for number in range(1_600)
    ]
    candles = candles_of(trades)
    thirds = candles.traded(Interval(180))
    assert [candle.count for candle in thirds[:-1]] == [3] * (len(thirds) - 1)
    assert len(thirds) >= 499
