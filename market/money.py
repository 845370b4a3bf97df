"""Money and amounts are Decimal; floats from elsewhere are converted once, here."""

from collections.abc import Iterable
from decimal import ROUND_DOWN, ROUND_UP, Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from typing import NewType

Price = NewType("Price", Decimal)
Amount = NewType("Amount", Decimal)

ZERO = Decimal(0)
BPS = Decimal(10_000)
EXACT = Context(prec=1_000, traps=[Inexact, InvalidOperation, DivisionByZero, Overflow])
"""Raises ArithmeticError rather than round."""


def decimal_of(value: str | float | Decimal) -> Decimal:
    """The shortest decimal that reads back as `value`; a binary float never leaks its tail.

    Raises ValueError for what is not a finite number.
    """
    try:
        number = value if isinstance(value, Decimal) else Decimal(str(value))
    except ArithmeticError:
        raise ValueError(f"not a number: {value!r}") from None
    if not number.is_finite():
        raise ValueError(f"not a finite number: {value!r}")
    return number


def text_of(number: Decimal) -> str:
    """Plain digits without exponent or trailing zeros, as money stands on the wire."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text


def floor_to_step(number: Decimal, step: Decimal) -> Decimal:
    """Round down to a whole number of steps; an exchange rejects the rest."""
    return (number / step).to_integral_value(rounding=ROUND_DOWN) * step


def ceil_to_step(number: Decimal, step: Decimal) -> Decimal:
    """Round up to a whole number of steps."""
    return (number / step).to_integral_value(rounding=ROUND_UP) * step


def steps_to_reach(number: Decimal, step: Decimal) -> int:
    """The least whole number of steps that is not below `number`; exact."""
    whole, rest = EXACT.divmod(number, step)
    return int(whole) + (rest > 0)


def total(numbers: Iterable[Decimal]) -> Decimal:
    """The sum; `sum` starts from an int, which mypy cannot call a Decimal."""
    return sum(numbers, ZERO)
