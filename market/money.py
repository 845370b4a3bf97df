"""Money and amounts are Decimal, made here alone: whatever comes from outside has a bound before anything is summed.

A number of ours has at most `MAX_DIGITS` digits and is written d.ddd × 10^e with e from `MIN_EXPONENT` to
`MAX_EXPONENT`. Without a bound eleven characters (`1e-999999999`) stand for a gigabyte of digits.
"""

import re
from collections.abc import Iterable
from decimal import ROUND_DOWN, ROUND_UP, Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, NewType

from pydantic import BeforeValidator

MAX_DIGITS = 40
MIN_EXPONENT, MAX_EXPONENT = -30, 30
ADVICE = f"write at most {MAX_DIGITS} digits, with an exponent from {MIN_EXPONENT} to {MAX_EXPONENT}"

_MAX_TEXT = MAX_DIGITS - MIN_EXPONENT + 10
"""Characters: a number with its zeros, its sign and point, and spaces around it."""
SHORT_TEXT = 30
"""Characters that cannot leave the bounds without an exponent: fewer digits than any bound counts."""
_SHOWN = 40
_is_written = re.compile(
    r"[0-9]{1,18}(?:\.[0-9]{1,18})?|(?:0|[1-9](?:\.[0-9]{1,18})?)[eE]-(?:0?[0-9]|1[0-8])", re.ASCII
).fullmatch
"""Eighteen digits before the point and as many behind it hold every price and amount that is traded anywhere."""
_MIN_PLACE = MIN_EXPONENT - MAX_DIGITS + 1
_MAX_INTEGER = 10**MAX_DIGITS
_MIN_DOUBLE = float(f"1e{MIN_EXPONENT}")


def decimal_of(value: str | float | Decimal) -> Decimal:
    """Return the shortest decimal that reads back as `value`; a binary float never leaks its tail.

    Raises ValueError, one sentence, for what is not a finite number within the bounds above.
    """
    text = value if isinstance(value, str) else _text(value)
    # nearly all that feeds bring: digits and a point, in bounds by their count alone, and none of the other things that
    # Decimal reads (NaN, exponents, underscores, digits of other scripts)
    if len(text) > SHORT_TEXT or text.strip("0123456789.-"):
        return _checked(text)
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None


def _text(number: float | Decimal) -> str:
    """Return the number's own form: a Decimal's has an exponent if its plain digits would be many."""
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        raise ValueError(f"{_shown(str(number))} is not a number")
    if isinstance(number, int) and abs(number) >= _MAX_INTEGER:
        raise ValueError(f"a whole number of {number.bit_length()} bits is out of bounds: {ADVICE}")
    return str(number)


def _checked(text: str) -> Decimal:
    if len(text) > _MAX_TEXT:
        raise ValueError(f"{_shown(text)} is out of bounds: {ADVICE}")
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None
    if "_" in text or not text.isascii() or not number.is_finite():
        raise ValueError(f"{text!r} is not a number")
    _, digits, exponent = number.as_tuple()
    is_in_bounds = number.adjusted() >= MIN_EXPONENT if number else int(exponent) >= _MIN_PLACE
    if not is_in_bounds or number.adjusted() > MAX_EXPONENT or len(digits) > MAX_DIGITS:
        raise ValueError(f"{text!r} is out of bounds: {ADVICE}")
    return number


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def written_decimal(text: str) -> Decimal:
    """As machines write prices and amounts: no sign, no space, small ones perhaps as 1e-08. For those that send many.

    Raises ValueError for anything else, numbers that `decimal_of` takes among them.
    """
    if not _is_written(text):
        raise ValueError(f"{_shown(text)} is no price or amount")
    return Decimal(text)


@lru_cache(maxsize=1_024, typed=True)
def decimal_of_double(value: float) -> Decimal:
    """Return the Decimal of a double that we computed ourselves: what is smaller than any number of ours is nothing.

    Raises ValueError if it is infinite, NaN, or too large.
    """
    return ZERO if abs(value) < _MIN_DOUBLE else decimal_of(value)


def decimal_of_whole(number: int) -> Decimal:
    """Return the Decimal of a whole number that we counted or computed ourselves: exact, whatever its size."""
    return Decimal(number)


def _bounded(value: object) -> object:
    """Return a number as a Decimal; what is none of any kind is left to pydantic to reject in its own words."""
    is_number = isinstance(value, str | int | float | Decimal) and not isinstance(value, bool)
    return decimal_of(value) if is_number else value  # type: ignore[arg-type] # just looked at


BoundedDecimal = Annotated[Decimal, BeforeValidator(_bounded)]
"""Each field that pydantic reads, whoever wrote the document: a request, a file, a store."""

if TYPE_CHECKING:
    Price = NewType("Price", Decimal)
    Amount = NewType("Amount", Decimal)
else:
    # a type checker knows no subclass of Annotated
    Price = NewType("Price", BoundedDecimal)
    Amount = NewType("Amount", BoundedDecimal)

ZERO = Decimal(0)
BPS = Decimal(10_000)
EXACT = Context(prec=1_000, traps=[Inexact, InvalidOperation, DivisionByZero, Overflow])
"""Raises ArithmeticError rather than round."""


def text_of(number: Decimal) -> str:
    """Plain digits without exponent or trailing zeros, as money stands on the wire."""
    text = str(number)
    if "E" in text:
        # rare, and takes twice as long
        text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text


def optional_text(number: Decimal | None) -> str | None:
    return None if number is None else text_of(number)


def floor_to_step(number: Decimal, step: Decimal) -> Decimal:
    """Round down to a whole number of steps; an exchange rejects the rest."""
    return (number / step).to_integral_value(rounding=ROUND_DOWN) * step


def ceil_to_step(number: Decimal, step: Decimal) -> Decimal:
    """Round up to a whole number of steps."""
    return (number / step).to_integral_value(rounding=ROUND_UP) * step


def steps_to_reach(number: Decimal, step: Decimal) -> int:
    """Return the least whole number of steps that is not below `number`; exact."""
    whole, rest = EXACT.divmod(number, step)
    return int(whole) + (rest > 0)


def total(numbers: Iterable[Decimal]) -> Decimal:
    """Return the sum; `sum` starts from an int, which mypy cannot call a Decimal."""
    return sum(numbers, ZERO)
