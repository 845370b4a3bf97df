"""A part of an app without what is wrong in it, so that the rest of it can be checked too."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from cep.apps.language.app_tree import Assignment, Filter, OrderBy, OutputColumn, Query, Window
from cep.apps.language.expression_tree import Attribute, Constant, Place, ValueType
from cep.apps.language.stream_names import nodes_of

Tree = TypeVar("Tree")
OPTIONAL = frozenset(("having", "on", "limit", "offset", "per"))
"""Fields without which a query is a query."""


def repaired(part: Tree, at: Place, types: tuple[ValueType, ...] = ()) -> Tree | None:
    """Return the part without the smallest thing in it that is at the place and can be left out: a filter, a window, a
    condition, or the value of a column. None if there is none. `types`: of the columns that it gives, as far as they
    are known."""
    found: Tree | None = _without(part, at, types)
    return found


def _without(node: Any, at: Place, types: tuple[ValueType, ...]) -> Any:
    for one in fields(node):
        value = getattr(node, one.name)
        after: Any
        if isinstance(value, tuple):
            after = _without_item(value, at, types)
        elif not _has(value, at):
            continue
        elif one.name in OPTIONAL:
            after = Constant(at, value=True, type="bool") if one.name == "on" else _NOTHING
        else:
            after = _without(value, at, types)
        if after is not None:
            return replace(node, **{one.name: None if after is _NOTHING else after})
    return None


_NOTHING = object()


def _without_item(items: tuple[Any, ...], at: Place, types: tuple[ValueType, ...]) -> tuple[Any, ...] | None:
    for place, item in enumerate(items):
        if not _has(item, at):
            continue
        others = items[:place], items[place + 1 :]
        match item:
            case OutputColumn():
                return (*others[0], _of_any_value(item, types[place] if place < len(types) else "double"), *others[1])
            case Filter() | Window() | OrderBy() | Attribute() | Assignment():
                return (*others[0], *others[1])
            case _:
                after = _without(item, at, types)
                if after is None and isinstance(item, Query) and len(items) > 1:
                    return (*others[0], *others[1])
                return None if after is None else (*others[0], after, *others[1])
    return None


def _of_any_value(column: OutputColumn, kind: ValueType) -> OutputColumn:
    values: dict[ValueType, int | float | str | bool] = {"string": "", "bool": False, "int": 0, "long": 0}
    name = column.name or (column.expression.name if isinstance(column.expression, Attribute) else "?")
    return replace(column, expression=Constant(column.at, values.get(kind, 0.0), kind), name=name)


def _has(value: object, at: Place) -> bool:
    """Return whether the value or a node in it is at the place."""
    if not is_dataclass(value):
        return False
    return any(getattr(node, "at", None) == at for node in nodes_of(value, with_writes=True))
