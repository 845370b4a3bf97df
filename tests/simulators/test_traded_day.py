"""Figures of the last day, and what a sum of money buys, against a plain list."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from market.time_units import MICROSECONDS
from simulators.market.traded_day import TradedDay
from simulators.matching.order_records import PublicTrade

DAY = 24 * 3600 * MICROSECONDS
rows = st.lists(st.tuples(st.integers(0, DAY // 8), st.integers(1, 500), st.integers(1, 50)), max_size=40)


def trade(number: int, time: int, price: int, amount: int) -> PublicTrade:
    return PublicTrade(number, "BTC/USD", "buy", Decimal(price), Decimal(amount), time)


@given(rows)
def test_figures_are_those_of_the_trades_of_the_day(rows: list[tuple[int, int, int]]) -> None:
    day, trades, now = TradedDay(), [], 0
    for number, (later, price, amount) in enumerate(rows):
        now += later
        trades.append(trade(number, now, price, amount))
        day.add(trades[-1])
    minute = 60 * MICROSECONDS
    kept = [t for t in trades if t.traded_at // minute * minute >= now - DAY]
    figures = day.figures(now)
    if not kept:
        assert figures is None
        return
    assert figures is not None
    prices = [t.price for t in kept]
    volume = sum(t.amount for t in kept)
    assert (figures.open, figures.high, figures.low) == (prices[0], max(prices), min(prices))
    assert (figures.volume, figures.last, figures.count) == (volume, kept[-1], len(kept))
    assert figures.average == sum(t.amount * t.price for t in kept) / volume


def test_a_day_without_trades_has_no_figures() -> None:
    day = TradedDay()
    day.add(trade(1, 0, 100, 1))
    assert day.figures(DAY // 2) is not None
    assert day.figures(2 * DAY) is None
