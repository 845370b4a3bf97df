"""`math:`. Angles are radians; what has no value is NaN, as in Java."""

import math
from collections.abc import Callable
from typing import Any

from cep.apps.functions.signature import NamedFunction, function
from cep.apps.parts.values import as_long, converted


def _plain(name: str, compute: Callable[[float], float]) -> NamedFunction:
    def of_number(value: Any) -> float:
        try:
            return compute(float(value))
        except (ValueError, ZeroDivisionError):
            return math.nan
        except OverflowError:
            return math.inf

    return function(f"math:{name}", "number -> double", of_number)


def logarithm(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf if value == 0 else math.nan


def power(base: Any, exponent: Any) -> float:
    try:
        found = float(base) ** float(exponent)
    except ZeroDivisionError:
        return math.inf
    except OverflowError:
        return math.inf
    return found if isinstance(found, float) else math.nan


def rounded(value: Any) -> int | None:
    """To the next whole number, halves upwards."""
    number = float(value)
    return as_long(math.floor(number + 0.5)) if math.isfinite(number) else None


def sign(value: Any) -> int:
    return int(value > 0) - int(value < 0)


def in_base(text: str, base: int, wanted: int) -> str | None:
    """`math:conv('1a', 16, 10)`."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    if not (2 <= base <= len(digits) and 2 <= wanted <= len(digits)):
        return None
    try:
        number = int(text, base)
    except ValueError:
        return None
    out, rest = "", abs(number)
    while rest or not out:
        rest, digit = divmod(rest, wanted)
        out = digits[digit] + out
    return f"-{out}" if number < 0 else out


MATH_FUNCTIONS = (
    function("math:abs", "number -> same", abs),
    function("math:round", "number -> long", rounded),
    function("math:signum", "number -> int", sign),
    function("math:power", "number number -> double", power),
    function("math:max", "number number -> double", lambda one, two: max(float(one), float(two))),
    function("math:min", "number number -> double", lambda one, two: min(float(one), float(two))),
    function("math:atan2", "number number -> double", lambda one, two: math.atan2(float(one), float(two))),
    function("math:hypot", "number number -> double", lambda one, two: math.hypot(float(one), float(two))),
    function("math:copySign", "number number -> double", lambda one, two: math.copysign(float(one), float(two))),
    function("math:pi", "-> double", lambda: math.pi),
    function("math:e", "-> double", lambda: math.e),
    function("math:isNan", "number -> bool", lambda value: math.isnan(float(value))),
    function("math:isInfinite", "number -> bool", lambda value: math.isinf(float(value))),
    function("math:conv", "string int int -> string", in_base),
    function("math:bin", "whole -> string", lambda value: f"{value:b}"),
    function("math:oct", "whole -> string", lambda value: f"{value:o}"),
    function("math:hex", "whole -> string", lambda value: f"{value:x}"),
    function("math:parseInt", "string -> int", lambda text: converted(text, "int")),
    function("math:parseLong", "string -> long", lambda text: converted(text, "long")),
    function("math:parseFloat", "string -> float", lambda text: converted(text, "float")),
    function("math:parseDouble", "string -> double", lambda text: converted(text, "double")),
    _plain("log", logarithm),
    _plain("ln", logarithm),
    _plain("ceil", lambda value: float(math.ceil(value)) if math.isfinite(value) else value),
    _plain("floor", lambda value: float(math.floor(value)) if math.isfinite(value) else value),
    *(
        _plain(name, compute)
        for name, compute in {
            "sqrt": math.sqrt,
            "cbrt": math.cbrt,
            "exp": math.exp,
            "log10": math.log10,
            "log2": math.log2,
            "sin": math.sin,
            "cos": math.cos,
            "tan": math.tan,
            "asin": math.asin,
            "acos": math.acos,
            "atan": math.atan,
            "sinh": math.sinh,
            "cosh": math.cosh,
            "tanh": math.tanh,
            "toDegrees": math.degrees,
            "toRadians": math.radians,
        }.items()
    ),
)
