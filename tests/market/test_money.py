"""Decimal at the edge: in from anything, out as plain digits, rounding by steps."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.money import ceil_to_step, decimal_of, floor_to_step, steps_to_reach, text_of, total

numbers = st.decimals("-1000000", "1000000", places=8)
steps = st.sampled_from([Decimal("1E-8"), Decimal("0.0001"), Decimal("0.05"), Decimal(1), Decimal(5)])


@pytest.mark.parametrize(
    ("value", "expected"),
    [("0.1", "0.1"), (0.1, "0.1"), (1e-8, "1E-8"), (Decimal("2.50"), "2.50"), (60000.01, "60000.01"), ("-3", "-3")],
)
def test_decimal_of(value: str | float | Decimal, expected: str) -> None:
    assert decimal_of(value) == Decimal(expected)


@pytest.mark.parametrize("value", ["", "abc", "nan", float("inf"), Decimal("-Infinity")])
def test_what_is_no_finite_number_is_refused(value: str | float | Decimal) -> None:
    with pytest.raises(ValueError, match="number"):
        decimal_of(value)


@pytest.mark.parametrize(
    ("number", "expected"),
    [("1E-8", "0.00000001"), ("1E+3", "1000"), ("2.500", "2.5"), ("-0.0", "0"), ("100", "100"), ("0E-8", "0")],
)
def test_text_of(number: str, expected: str) -> None:
    assert text_of(Decimal(number)) == expected


@given(number=numbers)
def test_text_reads_back(number: Decimal) -> None:
    assert decimal_of(text_of(number)) == number
    assert "E" not in text_of(number)


@given(number=st.decimals(0, 1_000_000, places=8), step=steps)
def test_steps_enclose_the_number(number: Decimal, step: Decimal) -> None:
    low, high = floor_to_step(number, step), ceil_to_step(number, step)
    assert low <= number <= high
    assert high - low in (0, step)
    assert low % step == high % step == 0


@given(number=st.decimals(0, 1_000_000, places=8), step=steps)
def test_steps_to_reach_are_as_few_as_do(number: Decimal, step: Decimal) -> None:
    count = steps_to_reach(number, step)
    assert (count - 1) * step < number <= count * step


def test_total() -> None:
    assert total([]) == 0
    assert total([Decimal("0.1")] * 3) == Decimal("0.3")
