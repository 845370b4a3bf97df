"""Arithmetic and conversions of the language's types, which are Java's.

An int has 32 bits and a long 64, and both wrap; a float has 32 bits; whole numbers are divided towards zero; a division
by zero is null. `decimal` is an extension of ours: exact, and never mixed with float or double.
"""

import math
import struct
from decimal import Decimal, DivisionByZero, InvalidOperation
from typing import Any

from cep.apps.language.decimals import decimal_of
from cep.apps.language.expression_tree import ValueType

Value = Any
"""None, str, bool, int, float, Decimal, or any object: what a row has in a column."""

_INT_HALF, _INT_ALL = 2**31, 2**32
_LONG_HALF, _LONG_ALL = 2**63, 2**64
NUMERIC: tuple[ValueType, ...] = ("int", "long", "float", "double", "decimal")
_DIGITS_OF_FLOAT = 10
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7
"""Java prints numbers of this range without an exponent."""


def as_int(value: int) -> int:
    return (value + _INT_HALF) % _INT_ALL - _INT_HALF


def as_long(value: int) -> int:
    return (value + _LONG_HALF) % _LONG_ALL - _LONG_HALF


def as_float(value: float) -> float:
    """Return the nearest number of 32 bits; infinite if there is none."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def quotient(left: Value, right: Value) -> Value:
    """Return the quotient of whole numbers towards zero; of others as they divide. None if `right` is zero."""
    if right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        size = abs(left) // abs(right)
        return size if (left < 0) == (right < 0) else -size
    return left / right


def remainder(left: Value, right: Value) -> Value:
    """With the sign of `left`. None if `right` is zero."""
    if right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        size = abs(left) % abs(right)
        return size if left >= 0 else -size
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return left % right
    return math.fmod(left, right) if math.isfinite(left) else math.nan


def wider(left: ValueType, right: ValueType) -> ValueType | None:
    """Return the type of what two numbers make together; None if they cannot be mixed."""
    both = {left, right}
    if "decimal" in both:
        return None if both & {"float", "double"} else "decimal"
    return next(one for one in ("double", "float", "long", "int") if one in both)


def text_of(value: Value) -> str:
    """As Java prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join('null' if one is None else text_of(one) for one in value)}]"
    return _float_text(value) if isinstance(value, float) else str(value)


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(value)
    significant = repr(value).partition("e")[0].lstrip("-").replace(".", "").strip("0")
    digits, exponent = f"{value:.{max(len(significant) - 1, 1)}e}".split("e")
    return f"{digits}E{int(exponent)}"


def float_text(value: float | None) -> str | None:
    """As Java prints a number of 32 bits: with as many digits as tell it from the next one."""
    if value is None or not math.isfinite(value):
        return None if value is None else text_of(value)
    shortest = (float(f"{value:.{digits}g}") for digits in range(1, _DIGITS_OF_FLOAT))
    return text_of(next((one for one in shortest if as_float(one) == value), value))


def converted(value: Value, wanted: ValueType) -> Value:
    """`value` as another type; None if it has no such value."""
    if value is None:
        return None
    if wanted == "string":
        return text_of(value)
    if wanted == "bool":
        return value.lower() == "true" if isinstance(value, str) else bool(value == 1)
    try:
        return _number(value, wanted)
    except (ValueError, OverflowError, InvalidOperation, DivisionByZero):
        return None


def _number(value: Value, wanted: ValueType) -> Value:
    if wanted == "decimal":
        return decimal_of(repr(value) if isinstance(value, float) else text_of(value))
    if wanted in ("float", "double"):
        return as_float(float(value)) if wanted == "float" else float(value)
    if isinstance(value, float):
        return _saturated(value, _INT_HALF if wanted == "int" else _LONG_HALF)
    return as_int(int(value)) if wanted == "int" else as_long(int(value))


def _saturated(value: float, half: int) -> int:
    """Return the whole number, and at an end of the type's range what is past that end, as in Java."""
    return 0 if math.isnan(value) else int(max(-half, min(half - 1, value)))
