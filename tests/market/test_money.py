"""Decimal at the edge: in from anything, out as plain digits, rounding by steps."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.money import (
    MAX_DIGITS,
    MAX_EXPONENT,
    MIN_EXPONENT,
    ceil_to_step,
    decimal_of,
    decimal_of_double,
    floor_to_step,
    steps_to_reach,
    text_of,
    total,
    written_decimal,
)

numbers = st.decimals("-1000000", "1000000", places=8)
steps = st.sampled_from([Decimal("1E-8"), Decimal("0.0001"), Decimal("0.05"), Decimal(1), Decimal(5)])


@pytest.mark.parametrize(
    ("value", "expected"),
    [("0.1", "0.1"), (0.1, "0.1"), (1e-8, "1E-8"), (Decimal("2.50"), "2.50"), (60000.01, "60000.01"), ("-3", "-3")],
)
def test_decimal_of(value: str | float | Decimal, expected: str) -> None:
    assert decimal_of(value) == Decimal(expected)


@pytest.mark.parametrize("value", ["", "abc", "nan", float("inf"), Decimal("-Infinity")])
def test_what_is_no_finite_number_is_rejected(value: str | float | Decimal) -> None:
    with pytest.raises(ValueError, match="number"):
        decimal_of(value)


@pytest.mark.parametrize(
    "value",
    [
        "1e-999999999", "1e50000000", "1e31", "1e-31", "-1e-31", "9" * 41, "0." + "1" * 41, "0E-70", "0E+31",
        "1" + "0" * 1_000_000, "9" * 1_000_000, " " * 100 + "1", 10**40, -(10**4_000), 1e300, 5e-324,
        Decimal("1e-999999999"), Decimal("1e999999"), Decimal("1" * 41),
    ],
)  # fmt: skip
def test_what_no_sum_could_hold_is_rejected_in_one_short_sentence(value: str | float | Decimal) -> None:
    with pytest.raises(
        ValueError, match="out of bounds: write at most 40 digits, with an exponent from -30 to 30"
    ) as no:
        decimal_of(value)
    assert len(str(no.value)) < 200


@pytest.mark.parametrize(
    "value", ["1_000", "١", "nan", "sNaN", "-Infinity", "0x10", "1,5", True, "1 0", "--1", "1.2.3", "."]
)
def test_what_decimal_alone_would_take_or_misread_is_rejected(value: str) -> None:
    with pytest.raises(ValueError, match="number") as no:
        decimal_of(value)
    assert len(str(no.value)) < 200


@pytest.mark.parametrize("value", ["1e30", "1e-30", "-" + "9" * 31 + "." + "9" * 9, "0E-69", " +100 ", "5.", "1E+3"])
def test_what_lies_within_the_bounds_is_taken(value: str) -> None:
    assert decimal_of(value) == Decimal(value)


@given(digits=st.integers(0, 10**60), exponent=st.integers(-120, 120), is_negative=st.booleans())
def test_a_number_is_taken_exactly_where_it_is_within_the_bounds(digits: int, exponent: int, is_negative: bool) -> None:
    number = Decimal((int(is_negative), tuple(map(int, str(digits))), exponent))
    is_within = len(str(digits)) <= MAX_DIGITS and (
        MIN_EXPONENT <= number.adjusted() <= MAX_EXPONENT
        if number
        else MIN_EXPONENT - MAX_DIGITS < exponent <= MAX_EXPONENT
    )
    forms = (number, str(number), format(number, "f"))
    if is_within:
        assert [decimal_of(form) for form in forms] == [number] * 3
        assert len(text_of(number)) <= MAX_DIGITS - MIN_EXPONENT + 2
    else:
        for form in forms[:2]:
            with pytest.raises(ValueError, match="out of bounds"):
                decimal_of(form)


@given(number=st.floats(allow_nan=False, allow_infinity=False, max_value=1e30, min_value=-1e30))
def test_a_double_of_ours_is_never_rejected_for_being_tiny(number: float) -> None:
    made = decimal_of_double(number)
    assert float(made) == number or (made == 0 and abs(number) < 1e-30)


@given(text=st.from_regex(r"[0-9]{0,3}\.?[0-9]{0,3}([eE][-+]?[0-9]{1,2})?", fullmatch=True) | st.text(max_size=8))
def test_what_machines_write_is_taken_as_by_the_general_way_or_rejected(text: str) -> None:
    try:
        written = written_decimal(text)
    except ValueError:
        return
    assert written == decimal_of(text)
    assert not written.is_signed()


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
