"""Values of messages as the columns of a stream say: what fits, and the one sentence about what does not."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from cep.apps.language.expression_tree import ValueType

ColumnTypes = tuple[tuple[str, ValueType], ...]
"""Names and types of a stream's columns, in their order."""
MOST_BYTES = 1 << 20
"""Of a message that is read whole."""
MOST_ROWS = 10_000
"""Of one message."""
FLOAT_MOST = 3.4028234663852886e38
"""The greatest number of 32 bits."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
# each digit has one place in it: a long text that is no number is looked at once
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def check_size(message: bytes) -> None:
    """Raise ValueError if the message is too long to be read."""
    if len(message) > MOST_BYTES:
        raise ValueError(f"{len(message):,} bytes, and {MOST_BYTES:,} are allowed")


def check_rows(count: int) -> None:
    """Raise ValueError if one message has too many rows."""
    if count > MOST_ROWS:
        raise ValueError(f"{count:,} rows, and {MOST_ROWS:,} are allowed")


def typed_row(columns: ColumnTypes, found: Mapping[str, Any], *, needs_all: bool) -> tuple[Any, ...]:
    """Return the values by column. `found`: by the columns' names; what is beside them is left out. Raises ValueError
    if a value is not what its column says, or one is missing and `needs_all`; else it is null."""
    if needs_all:
        lacking = next((name for name, _ in columns if name not in found), None)
        if lacking is not None:
            raise ValueError(f"{lacking!r} is missing")
    return tuple(typed(name, kind, found.get(name)) for name, kind in columns)


def typed(name: str, kind: ValueType, value: Any) -> Any:
    """Return the value as the column `name` has it. Raises ValueError."""
    if value is None:
        return None
    try:
        return _READ[kind](value)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ValueError(f"{name!r} is no {kind}: {_shown(value)}") from error


def written_text(value: Any) -> str:
    """Return a value of a row as plain text; null is the empty text. A double is the shortest text that says it."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case _:
            return orjson.dumps(value).decode()


def decoded(message: bytes) -> str:
    """Return the message as text, without a mark of its byte order. Raises ValueError if it is no UTF-8."""
    check_size(message)
    try:
        return message.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"no UTF-8 (byte {error.start})") from error


def _shown(value: Any) -> str:
    """Return a value as text; of a list or an object its kind alone: as text it may be nested too deep to be
    written."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return repr(str(value)[:40])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _truth(value: Any) -> bool:
    found = value.strip().lower() if isinstance(value, str) else value
    # 1 and 0 are equal to them, and no truths
    if isinstance(found, bool | str):
        return {True: True, False: False, "true": True, "false": False}[found]
    raise TypeError(value)


def _whole(bits: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, str) and not _WHOLE.fullmatch(value.strip()):
            raise ValueError(value)
        found = int(value)
        # as a float a whole number above 2 ** 53 would be another one
        is_cut = isinstance(value, float) and found != value
        if isinstance(value, bool) or is_cut or not -(2 ** (bits - 1)) <= found < 2 ** (bits - 1):
            raise ValueError(value)
        return found

    return read


def _number(most: float) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
            raise ValueError(value)
        found = float(value)
        # a sum that has met a NaN or an infinity once never gets rid of it
        if not math.isfinite(found) or abs(found) > most:
            raise ValueError(value)
        return found

    return read


_READ: Mapping[ValueType, Callable[[Any], Any]] = {
    "string": _text,
    "bool": _truth,
    "int": _whole(32),
    "long": _whole(64),
    "float": _number(FLOAT_MOST),
    "double": _number(math.inf),
}
