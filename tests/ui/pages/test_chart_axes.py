"""Axes end on round numbers, around what they show."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.page_parts.chart_axes import axis_over

MONEY = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)


@pytest.mark.parametrize(
    ("lowest", "highest", "parts", "options"),
    [
        (-19.177542829999993, 0.0, 2, {"min": -20.0, "max": 0.0, "interval": 10.0}),
        (-1.0, 0.0, 2, {"min": -1.0, "max": 0.0, "interval": 0.5}),
        (0.0, 224.3, 4, {"min": 0.0, "max": 300.0, "interval": 100.0}),
        (3.1, 3.1, 4, {"min": 3.1, "max": 3.11, "interval": 0.01}),
        (0.0, 0.0, 4, {"min": 0.0, "max": 0.01, "interval": 0.01}),
    ],
)
def test_an_axis_has_round_ends(lowest: float, highest: float, parts: int, options: dict[str, float]) -> None:
    assert axis_over(lowest, highest, parts).options() == options


@given(MONEY, MONEY, st.integers(1, 8))
def test_an_axis_holds_what_it_shows_in_few_short_steps(one: float, other: float, parts: int) -> None:
    lowest, highest = min(one, other), max(one, other)
    axis = axis_over(lowest, highest, parts)
    assert axis.lowest <= lowest
    assert axis.highest >= highest
    step = Decimal(str(axis.step))
    assert step.normalize().as_tuple().digits in ((1,), (2,), (5,))
    assert (Decimal(str(axis.highest)) - Decimal(str(axis.lowest))) / step <= parts + 2
    assert Decimal(str(axis.lowest)) % step == 0


@pytest.mark.parametrize("ends", [(float("nan"), 1.0), (0.0, float("inf"))])
def test_what_is_no_number_has_no_axis(ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="no axis"):
        axis_over(*ends, parts=4)
