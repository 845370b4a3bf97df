"""Parameters of on-demand queries: `from Prices on symbol == {symbol} select price`.

A value that somebody sends must never be read as a part of a query. So the text is parsed with the names alone, and the
values are put into the tree.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Attribute, Constant, Place, ValueType
from cep.apps.language.stream_names import nodes_of
from cep.apps.language.token_patterns import COMMENT, QUOTED

PARAMETER_TYPES: tuple[ValueType, ...] = ("string", "int", "long", "double", "bool")
LARGEST = {"int": 2**31 - 1, "long": 2**63 - 1}
MOST_DIGITS = 19
LONGEST_VALUE = 1_000
_PARAMETER = re.compile(rf"(?P<other>{QUOTED}|{COMMENT})|\{{(?P<name>[A-Za-z_]\w{{0,63}})\}}", re.ASCII)
_WHOLE = re.compile(rf"-?[0-9]{{1,{MOST_DIGITS}}}")
_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?")
Tree = TypeVar("Tree")


def named_parameters(text: str) -> str:
    """Return the query with each `{name}` outside of strings and comments as a quoted name, as the parser knows
    one."""
    return _PARAMETER.sub(lambda found: f"`{found.group()}`" if found["name"] else found.group(), text)


def parameters_of(query: object) -> dict[str, Place]:
    """Return the parameters of a query parsed from `named_parameters`, each with where it first stands."""
    found: dict[str, Place] = {}
    for node in nodes_of(query, with_writes=True):
        if (name := _parameter(node)) is not None:
            found.setdefault(name, node.at)  # type: ignore[attr-defined]
    return found


def with_values(query: Tree, values: Mapping[str, Constant]) -> Tree:
    """Return the query with its parameters' values. Raises AppTextError for a parameter without one."""
    for name, at in parameters_of(query).items():
        if name not in values:
            raise AppTextError(at, f"the parameter {{{name}}} has no value")
    found: Tree = _with_values(query, values)
    return found


def constant_of(kind: ValueType, given: str) -> Constant:
    """Return the value of a parameter from its text. Raises ValueError, whose text says what is expected."""
    value: int | float | str | bool
    match kind:
        case "string" if len(given) <= LONGEST_VALUE:
            value = given
        case "string":
            raise ValueError(f"a text of at most {LONGEST_VALUE} characters is expected")
        case "bool" if given in ("true", "false"):
            value = given == "true"
        case "int" | "long" if _WHOLE.fullmatch(given) and -LARGEST[kind] - 1 <= int(given) <= LARGEST[kind]:
            value = int(given)
        case "double" if _NUMBER.fullmatch(given) and math.isfinite(float(given)):
            value = float(given)
        case _:
            raise ValueError({"bool": "true or false is expected"}.get(kind, f"a number ({kind}) is expected"))
    return Constant(Place(1, 1), value, kind)


def constants_of(given: Mapping[str, Sequence[str]]) -> dict[str, Constant]:
    """Return the values by name. `given`: type and text of each. Raises ValueError."""
    found: dict[str, Constant] = {}
    for name, (kind, text) in given.items():
        known = next((one for one in PARAMETER_TYPES if one == kind), None)
        if known is None:
            raise ValueError(f"{name}: there is no parameter type {kind!r}; there are {', '.join(PARAMETER_TYPES)}")
        try:
            found[name] = constant_of(known, text)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return found


def _parameter(node: object) -> str | None:
    is_one = isinstance(node, Attribute) and node.source is None and node.name.startswith("{")
    return node.name[1:-1] if is_one and isinstance(node, Attribute) else None


def _with_values(node: Any, values: Mapping[str, Constant]) -> Any:
    if isinstance(node, tuple):
        return tuple(_with_values(one, values) for one in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    name = _parameter(node)
    if name is not None and isinstance(node, Attribute):
        return replace(values[name], at=node.at)
    return replace(node, **{one.name: _with_values(getattr(node, one.name), values) for one in fields(node)})
