"""Decimals of the language: exact, and bounded as all that comes from outside.

A decimal has at most `MAX_DIGITS` digits and is written d.ddd × 10^e with e from `MIN_EXPONENT` to `MAX_EXPONENT`, the
bounds of money in the rest of the product, to which tests hold it.
"""

import re
from decimal import Decimal, InvalidOperation

MAX_DIGITS = 40
MIN_EXPONENT, MAX_EXPONENT = -30, 30
MOST_CHARACTERS = MAX_DIGITS - MIN_EXPONENT + 10
"""A number with its zeros, sign and point, and spaces around it."""
_ADVICE = f"write at most {MAX_DIGITS} digits, with an exponent from {MIN_EXPONENT} to {MAX_EXPONENT}"
_MIN_PLACE = MIN_EXPONENT - MAX_DIGITS + 1
_SHOWN = 40
_is_number = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*", re.ASCII).fullmatch
_is_short = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,14})?", re.ASCII).fullmatch
"""Nearly all there is: within the bounds whatever the digits are."""


def decimal_of(text: str) -> Decimal:
    """Raise ValueError, one sentence, if `text` is not a finite number within the bounds."""
    if _is_short(text):
        return Decimal(text)
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"{text[:_SHOWN] + '…'!r} is out of bounds: {_ADVICE}")
    number = _decimal(text)
    _, digits, exponent = number.as_tuple()
    is_in_bounds = number.adjusted() >= MIN_EXPONENT if number else int(exponent) >= _MIN_PLACE
    if not is_in_bounds or number.adjusted() > MAX_EXPONENT or len(digits) > MAX_DIGITS:
        raise ValueError(f"{text!r} is out of bounds: {_ADVICE}")
    return number


def _decimal(text: str) -> Decimal:
    # Decimal alone also reads NaN, underscores and digits of other scripts
    if not _is_number(text):
        raise ValueError(f"{text!r} is not a number")
    try:
        return Decimal(text)
    except InvalidOperation:
        # an exponent that no decimal has
        raise ValueError(f"{text!r} is not a number") from None


def plain_text(number: Decimal) -> str:
    """Digits without exponent or trailing zeros."""
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("", "-0") else text
