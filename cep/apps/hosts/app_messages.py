"""Rows of apps as messages of the topic `apps`, JSON: id, app, stream, time (milliseconds UTC), values by column;
`not_finite`: the columns whose null is NaN or an infinity, if there are any."""

from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import Any

import orjson

from cep.apps.hosts.hosted_app import AppRow
from market.money import text_of


def app_message(row: AppRow) -> bytes:
    """Decimals as text, sets as sorted lists; numbers that are not finite as null, which JSON has instead."""
    not_finite = _not_finite(row.values)
    if not not_finite:
        return orjson.dumps(row, default=plain_json)
    # a null may ask for something, as in `AssetThresholds`; what could not be computed asks for nothing
    named = {"id": row.id, "app": row.app, "stream": row.stream, "time": row.time, "values": row.values}
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
