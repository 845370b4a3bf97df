"""Rows of the responses to an app's requests, and of Kafka topics of the user's own. Pure: JSON in, values by column
out."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from cep.apps.hosts.app_outside import ResponseSource
from cep.apps.hosts.kafka_ends import KafkaSource
from cep.apps.language.expression_tree import ValueType

EVENT = "event"
"""An object with this name alone stands around a row in Siddhi's own form."""
MOST_ROWS = 10_000


def response_rows(source: ResponseSource, body: bytes) -> list[tuple[Any, ...]]:
    """Return the objects at `element`, one or a list of them; a name that an object lacks is null. `$.*`: the objects
    one level down, and if there are none the object itself. Raises ValueError if there is none, or a value is not
    what its column says."""
    return [_values(source.columns, row) for row in _objects(source.element, body)]


def message_rows(source: KafkaSource, message: bytes) -> list[tuple[Any, ...]]:
    """As `response_rows`; if the source needs all columns, ValueError too if an object lacks one."""
    rows = _objects(source.element, message)
    if source.needs_all:
        lacking = next((name for row in rows for name, _ in source.columns if name not in row), None)
        if lacking is not None:
            raise ValueError(f"{lacking!r} is missing")
    return [_values(source.columns, row) for row in rows]


def _objects(element: str, body: bytes) -> list[Mapping[str, Any]]:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"no JSON ({error})") from error
    for name in element.split(".")[1:]:
        found = _below(found, name)
    rows = found if isinstance(found, list) else [found]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"no object at {element}")
    if len(rows) > MOST_ROWS:
        raise ValueError(f"{len(rows):,} rows, and {MOST_ROWS:,} are allowed")
    return [_inner(row) for row in rows]


def _below(found: Any, name: str) -> Any:
    if name == "*":
        values = list(found.values()) if isinstance(found, dict) else found
        objects = [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []
        return objects or found
    if not isinstance(found, dict) or name not in found:
        raise ValueError(f"nothing is named {name!r}")
    return found[name]


def _inner(row: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = row.get(EVENT)
    return inner if len(row) == 1 and isinstance(inner, dict) else row


def _values(columns: Iterable[tuple[str, ValueType]], row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(_value(name, kind, row.get(name)) for name, kind in columns)


def _value(name: str, kind: ValueType, value: Any) -> Any:
    if value is None:
        return None
    try:
        return _READ[kind](value)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ValueError(f"{name!r} is no {kind}: {_shown(value)}") from error


def _shown(value: Any) -> str:
    """Return a value as text; of a list or an object its kind alone: as text it may be nested too deep to be
    written."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return repr(str(value)[:40])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _truth(value: Any) -> bool:
    return {True: True, False: False, "true": True, "false": False}[value]


def _whole(bits: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        found = int(value)
        # as a float a whole number above 2 ** 53 would be another one
        is_cut = isinstance(value, float) and found != value
        if isinstance(value, bool) or is_cut or not -(2 ** (bits - 1)) <= found < 2 ** (bits - 1):
            raise ValueError(value)
        return found

    return read


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    return float(value)


_READ: Mapping[ValueType, Callable[[Any], Any]] = {
    "string": _text,
    "bool": _truth,
    "int": _whole(32),
    "long": _whole(64),
    "float": _number,
    "double": _number,
}
