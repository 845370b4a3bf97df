"""The language's decimals have the bounds of money, and are written as money is."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.language import decimals
from market import money

EDGES = (
    *("1", "-0.10", "0E-69", "0E-70", "1e30", "1e31", "1e-30", "1e-31", "9" * 40, "9" * 41, "0." + "1" * 41, " +5. "),
    *(".5", ".", "", "--1", "1.2.3", "1_000", "١", "NaN", "sNaN", "Infinity", "1e999999999999999999999", "1 0", "0x10"),
    *("1" + "0" * 1_000_000, " " * 100 + "1", "123456789012345.12345678901234", "1" * 31 + "." + "1" * 9),
)


def outcome(convert: Callable[[str], Decimal], text: str) -> tuple[object, ...] | str:
    try:
        return tuple(convert(text).as_tuple())
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("text", EDGES, ids=lambda text: repr(text[:40]))
def test_a_text_at_the_bounds_is_what_it_is_to_money(text: str) -> None:
    assert outcome(decimals.decimal_of, text) == outcome(money.decimal_of, text)


@given(st.text("0123456789.-+eE_ \t١", max_size=50))
def test_any_text_is_what_it_is_to_money(text: str) -> None:
    assert outcome(decimals.decimal_of, text) == outcome(money.decimal_of, text)


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_decimal_is_written_as_money_is(number: Decimal) -> None:
    assert decimals.plain_text(number) == money.text_of(number)
