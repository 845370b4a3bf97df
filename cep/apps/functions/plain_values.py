"""Values that code of others gives: whether they are of a type, and plain enough for a snapshot."""

from collections.abc import Callable, Mapping
from decimal import Decimal

from cep.apps.language.expression_tree import ValueType
from cep.apps.parts.values import Value, as_float

RESULTS: Mapping[ValueType, Callable[[Value], Value]] = {"float": as_float, "double": float, "int": int, "long": int}
"""Plain numbers, if a function gives a kind of its own, such as numpy's."""
BOUNDS: Mapping[ValueType, int] = {"int": 2**31, "long": 2**63}
PLAIN = (str, bool, int, float, Decimal, type(None))
"""What a snapshot keeps, alone and in lists, tuples, dicts and sets."""


def fits(value: Value, kind: ValueType) -> bool:
    """Raise RecursionError of a value that contains itself."""
    if value is None or kind == "object":
        return is_plain(value)
    if kind in ("string", "bool", "decimal"):
        return type(value) is {"string": str, "bool": bool, "decimal": Decimal}[kind]
    if isinstance(value, bool):
        return False
    if kind in BOUNDS:
        return isinstance(value, int) and -BOUNDS[kind] <= value < BOUNDS[kind]
    return isinstance(value, int | float)


def is_plain(value: Value) -> bool:
    """Raise RecursionError of a value that contains itself."""
    if type(value) in (list, tuple, set, frozenset):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(map(is_plain, (*value, *value.values())))
    return type(value) in PLAIN
