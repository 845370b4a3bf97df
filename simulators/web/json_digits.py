"""JSON numbers with exactly the digits of a Decimal, for exchanges that send numbers where others send text."""

from decimal import Decimal

import orjson

from market.money import text_of


def exact(text: str) -> orjson.Fragment:
    """Return a number as these digits, trailing zeros and all; readers that take floats read it as any other."""
    return orjson.Fragment(text.encode())


def plain(number: Decimal) -> orjson.Fragment:
    """Return the number without trailing zeros: 0.5, 12, 0."""
    return exact(text_of(number))


def with_point(number: Decimal) -> orjson.Fragment:
    """Return a number with at least one digit after the point: 0.5, 12.0, 0.0."""
    text = text_of(number)
    return exact(text if "." in text else f"{text}.0")
