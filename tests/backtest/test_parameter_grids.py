"""Grids and random draws of parameter sets, and the messages if they make none."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backtest.sweep.errors import SweepRejectedError
from backtest.sweep.parameter_grids import Grid, GridAxis, Range, axis_of, checked_grid, range_of


def decimals(*words: str) -> tuple[Decimal, ...]:
    return tuple(Decimal(word) for word in words)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("min_net_bps=0:6:2", decimals("0", "2", "4", "6")),
        ("min_net_bps=0:5:2", decimals("0", "2", "4")),
        ("min_net_bps=-1:1:0.5", decimals("-1", "-0.5", "0", "0.5", "1")),
        ("latency_ms=0,50,100", decimals("0", "50", "100")),
        ("latency_ms=50", decimals("50")),
        (" fee_bps.kraken = 1 , 2 ", decimals("1", "2")),
        ("max_notional=7:7:1", decimals("7")),
    ],
)
def test_an_axis_is_read(text: str, values: tuple[Decimal, ...]) -> None:
    assert axis_of(text) == GridAxis(text.partition("=")[0].strip(), values)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("min_net_bps", "is not NAME=FROM:TO:STEP or NAME=VALUE,VALUE"),
        ("=1,2", "is not NAME=FROM:TO:STEP or NAME=VALUE,VALUE"),
        ("min_net_bps=", "has no values"),
        ("min_net_bps=1,x", "'x' is not a number"),
        ("min_net_bps=1,,2", "'' is not a number"),
        ("min_net_bps=1,nan", "'nan' is not a number"),
        ("min_net_bps=1,1.0", "repeats a value"),
        ("min_net_bps=0:10", "is not FROM:TO:STEP"),
        ("min_net_bps=0:10:0", "the step must be greater than 0"),
        ("min_net_bps=0:10:-1", "the step must be greater than 0"),
        ("min_net_bps=10:0:1", "is empty, because 0 is below 10"),
        ("min_net_bps=0:1000:0.001", "1,000,001 values are too many"),
        ("min_net_bps=0:1e30:1", "out of range for every parameter"),
        ("min_net_bps=0:1:1e-999999", "out of bounds"),
    ],
)
def test_a_wrong_axis_is_named(text: str, said: str) -> None:
    with pytest.raises(SweepRejectedError) as rejected:
        axis_of(text)
    assert said in str(rejected.value)
    assert "\n" not in str(rejected.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_notional=100", "is not NAME=LOW:HIGH"),
        ("max_notional=100:200:5", "is not NAME=LOW:HIGH"),
        ("max_notional=200:100", "is empty, because 100 is not above 200"),
        ("max_notional=a:100", "'a' is not a number"),
    ],
)
def test_a_wrong_range_is_named(text: str, said: str) -> None:
    with pytest.raises(SweepRejectedError) as rejected:
        range_of(text)
    assert said in str(rejected.value)


def test_a_grid_has_every_combination_the_last_axis_fastest() -> None:
    grid = checked_grid(Grid((GridAxis("a", decimals("1", "2")), GridAxis("b", decimals("5", "6", "7")))))
    points = list(grid.points())
    assert len(points) == grid.size == 6
    assert points[:4] == [
        (("a", Decimal(1)), ("b", Decimal(5))),
        (("a", Decimal(1)), ("b", Decimal(6))),
        (("a", Decimal(1)), ("b", Decimal(7))),
        (("a", Decimal(2)), ("b", Decimal(5))),
    ]


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        (Grid(()), "nothing is varied"),
        (Grid((GridAxis("a", decimals("1")), GridAxis("a", decimals("2")))), "a is given twice"),
        (Grid((), (range_of("a=1:2"),)), "a is a range: say with --random N"),
        (Grid((GridAxis("a", decimals("1")),), draws=0), "--random must draw at least one set"),
        (Grid((GridAxis("a", decimals("1")),), draws=100_001), "100,001 sets are too many"),
        (Grid((axis_of("a=1:1000:1"), axis_of("b=1:101:1"))), "101,000 sets are too many"),
    ],
)
def test_a_grid_that_makes_no_sweep_is_rejected(grid: Grid, said: str) -> None:
    with pytest.raises(SweepRejectedError) as rejected:
        checked_grid(grid)
    assert said in str(rejected.value)


def test_draws_follow_from_the_seed_alone() -> None:
    grid = Grid((axis_of("latency_ms=0,50"),), (range_of("max_notional=100:5000"),), draws=40, seed=7)
    points = list(grid.points())
    assert points == list(grid.points())
    assert len(points) == grid.size == 40
    other = Grid(grid.axes, grid.ranges, draws=40, seed=8)
    assert points != list(other.points())
    assert {dict(point)["latency_ms"] for point in points} == set(decimals("0", "50"))
    assert len({dict(point)["max_notional"] for point in points}) > 30


@given(
    low=st.decimals(-1_000, 1_000, places=3),
    length=st.decimals("0.001", 5_000, places=3),
    seed=st.integers(0, 2**63),
    is_integer=st.booleans(),
)
def test_a_draw_lies_within_its_range(low: Decimal, length: Decimal, seed: int, is_integer: bool) -> None:
    part = Range("a", low, low + length)
    if is_integer:
        part = Range("a", low.to_integral_value(), low.to_integral_value() + length.to_integral_value() + 1, True)
    for point in Grid((), (part,), draws=5, seed=seed).points():
        value = dict(point)["a"]
        assert part.low <= value <= part.high
        assert not is_integer or value % 1 == 0
