"""The equity curve: exact whatever is thinned, and no peak or fall lost in what is drawn."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.accounting.equity_curve import (
    MAX_MARKS,
    MAX_POINTS,
    Ending,
    EquityCurve,
    EquityDrawdown,
    SampledLine,
    thinned,
)
from market.trade.arbitrages import ArbitrageState

nets = st.decimals("-1000", "1000", places=8)
steps = st.integers(0, 3_600_000_000)
endings = st.lists(st.tuples(steps, nets, st.sampled_from(["closed", "unwound", "residual"])), max_size=60)


def curve_of(rows: list[tuple[int, Decimal, str]]) -> EquityCurve:
    curve, at = EquityCurve(), 1_700_000_000_000_000
    for number, (step, net, state) in enumerate(rows):
        at += step
        curve.add(Ending(at, str(number), state, net))  # type: ignore[arg-type]  # of ArbitrageState, drawn above
    return curve


def of(*values: str, state: ArbitrageState = "closed") -> EquityCurve:
    return curve_of([(1, Decimal(net), state) for net in values])


def test_wins_losses_and_the_largest_of_each() -> None:
    equity = of("2", "-0.5", "0", "3", "-1").equity()
    assert (equity.wins, equity.losses, equity.even, equity.endings) == (2, 2, 1, 5)
    assert (equity.largest_win, equity.largest_loss, equity.net) == (Decimal(3), Decimal(-1), Decimal("3.5"))
    assert equity.win_share == pytest.approx(0.4)
    assert of().equity().win_share is None


def test_what_never_traded_is_neither_won_nor_lost() -> None:
    equity = of("0", state="unfilled").equity()
    assert (equity.endings, equity.win_share) == (1, None)


@pytest.mark.parametrize(
    ("values", "deepest", "current"),
    [
        ((), EquityDrawdown(), EquityDrawdown()),
        (("1", "1"), EquityDrawdown(), EquityDrawdown()),
        (("-2",), EquityDrawdown(Decimal(2), None, 1), EquityDrawdown(Decimal(2), None, 1)),
        (("5", "-3", "-1", "9"), EquityDrawdown(Decimal(4), 1, 3, Decimal(5)), EquityDrawdown()),
        (
            ("5", "-3", "9", "-1", "-1"),
            EquityDrawdown(Decimal(3), 1, 2, Decimal(5)),
            EquityDrawdown(Decimal(2), 3, 5, Decimal(11)),
        ),
    ],
)
def test_the_deepest_fall_and_the_one_it_is_in(
    values: tuple[str, ...], deepest: EquityDrawdown, current: EquityDrawdown
) -> None:
    curve = EquityCurve()
    for number, net in enumerate(values, 1):
        curve.add(Ending(number, str(number), "closed", Decimal(net)))
    equity = curve.equity()
    assert (equity.deepest, equity.current) == (deepest, current)


def test_what_did_not_simply_close_is_marked_with_the_sum_at_it() -> None:
    curve = curve_of([(1, Decimal(2), "closed"), (1, Decimal(-3), "unwound"), (1, Decimal(0), "residual")])
    curve.add(Ending(1, "third", "closed", Decimal(4), has_third_order=True))
    marks = [(str(mark.ending.outcome), str(mark.net)) for mark in curve.equity().marks]
    assert marks == [("unwound", "-1"), ("residual", "-1"), ("closed_by_third_order", "3")]


def test_many_endings_take_bounded_room_and_stay_exact() -> None:
    rows = [(number % 7_000_000, Decimal(number % 11 - 5), "residual") for number in range(5_000)]
    equity = curve_of(rows).equity()
    assert equity.net == sum(net for _, net, _ in rows)
    assert 100 < len(equity.points) <= MAX_POINTS
    assert len(equity.marks) == MAX_MARKS
    assert (equity.endings, equity.points[-1].number, equity.points[-1].net) == (5_000, 5_000, equity.net)


@given(endings, st.integers(0, 60))
def test_going_on_from_a_copy_is_going_on(rows: list[tuple[int, Decimal, str]], place: int) -> None:
    whole = curve_of(rows).equity()
    first = curve_of(rows[:place])
    before, copied = first.equity(), first.copy()
    at = 1_700_000_000_000_000 + sum(step for step, _, _ in rows[:place])
    for number, (step, net, state) in enumerate(rows[place:], place):
        at += step
        copied.add(Ending(at, str(number), state, net))  # type: ignore[arg-type]  # of ArbitrageState, drawn above
    assert copied.equity() == whole
    assert whole.net == sum(net for _, net, _ in rows)
    assert whole.deepest.depth >= whole.current.depth >= 0
    assert first.equity() == before


@given(st.lists(st.tuples(steps, nets), min_size=1, max_size=200), st.integers(1, 8))
def test_thinning_keeps_the_extremes_and_the_end(rows: list[tuple[int, Decimal]], most: int) -> None:
    at, points = 1_700_000_000_000_000, []
    for step, net in rows:
        at += step
        points.append((at, net))
    line = SampledLine(most)
    for point in points:
        line.add(*point)
    kept = line.points()
    assert kept == thinned(points, most)
    assert len(kept) <= 3 * most
    assert [point.number for point in kept] == sorted({point.number for point in kept})
    assert all(points[point.number - 1] == (point.at, point.net) for point in kept)
    assert min(point.net for point in kept) == min(net for _, net in points)
    assert max(point.net for point in kept) == max(net for _, net in points)
    assert (kept[-1].at, kept[-1].net) == points[-1]
