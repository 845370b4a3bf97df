"""Fields of requests, and rows of answers, as Bybit and OKX word them: texts, and times in milliseconds."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from market.money import ZERO, decimal_of

Fields = Mapping[str, Any]
Row = dict[str, object]
_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?", re.ASCII)


def optional_field(fields: Fields, name: str) -> str | None:
    """Return the text; None if it is missing or empty."""
    value = fields.get(name)
    return None if value is None or value == "" else str(value)


def plain_number(text: str) -> Decimal:
    """Return the number; zero if it is none, or has a sign or an exponent."""
    return decimal_of(text) if _NUMBER.fullmatch(text) else ZERO


def milliseconds(micros: int) -> str:
    return str(micros // 1_000)
