"""Rows of apps as messages of the topic `apps`, JSON: id, app, stream, time (milliseconds UTC), values by column;
`not_finite`: the columns whose null is NaN or an infinity, if there are any; `replays`: the id of the row that failed
before and is given again, if it is one."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from math import isfinite
from typing import Any

import orjson

from market.money import text_of


@dataclass(frozen=True, slots=True)
class AppRow:
    """`time`: milliseconds UTC, of the app's clock."""

    id: str
    app: str
    stream: str
    time: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReplayedRow(AppRow):
    """A row of the error store that the app was given again, or that failed again. `replays`: the id that it had."""

    replays: str


def given_again(row: AppRow, stream: str, replays: str) -> AppRow:
    """Return the row with the id that it had first, if it is of the stream whose row is given again, or of its
    errors."""
    if row.stream.removeprefix("!") != stream:
        return row
    return ReplayedRow(row.id, row.app, row.stream, row.time, row.values, replays)


def app_message(row: AppRow) -> bytes:
    """Decimals as text, sets as sorted lists; numbers that are not finite as null, which JSON has instead."""
    not_finite = _not_finite(row.values)
    if not not_finite:
        return orjson.dumps(row, default=plain_json)
    # a null may ask for something, as in `AssetThresholds`; what could not be computed asks for nothing
    named = {field.name: getattr(row, field.name) for field in fields(row)}
    return orjson.dumps({**named, "not_finite": not_finite}, default=plain_json)


def _not_finite(values: Mapping[str, Any]) -> list[str]:
    return [name for name, value in values.items() if isinstance(value, float) and not isfinite(value)]


def plain_json(value: object) -> object:
    """Return what JSON has instead of a value of an app."""
    match value:
        case Decimal():
            return text_of(value)
        case set() | frozenset():
            return sorted(value, key=repr)
        case _:
            return str(value)
