"""Rows of apps as messages of the topic `apps`, JSON: id, app, stream, time (milliseconds UTC), values by column."""

from decimal import Decimal

import orjson

from cep.apps.hosts.hosted_app import AppRow
from market.money import text_of


def app_message(row: AppRow) -> bytes:
    """Decimals as text, sets as sorted lists; numbers that are not finite as null, which JSON has instead."""
    return orjson.dumps(row, default=plain_json)


def plain_json(value: object) -> object:
    """Return what JSON has instead of a value of an app."""
    match value:
        case Decimal():
            return text_of(value)
        case set() | frozenset():
            return sorted(value, key=repr)
        case _:
            return str(value)
