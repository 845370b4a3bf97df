"""Rows are dictionaries as JSON shows them. What a row has in common with its source is copied by name."""

from collections.abc import Mapping
from decimal import Decimal
from typing import TypeVar, cast

from market.money import text_of

Row = TypeVar("Row")


def row_from(row_type: type[Row], source: object, **given: object) -> Row:
    """Return a row of the TypedDict `row_type`: each field is as `given`, else the attribute of `source` of that name.

    Money becomes a decimal string. Raises TypeError for a given field that the row does not have.
    """
    fields = row_type.__annotations__
    if unknown := given.keys() - fields.keys():
        raise TypeError(f"{row_type.__name__} has no {', '.join(sorted(unknown))}")
    return cast(Row, {name: _json(given[name] if name in given else getattr(source, name)) for name in fields})


def _json(value: object) -> object:
    if isinstance(value, Decimal):
        return text_of(value)
    return dict(value) if isinstance(value, Mapping) else value
