"""The built-in functions of a row: what each accepts, the type of its value, and the Python that computes it.

Sources: https://siddhi.io/en/v5.1/docs/api/latest/ (core).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from cep.apps.functions.collection_functions import COLLECTION_FUNCTIONS
from cep.apps.functions.math_functions import MATH_FUNCTIONS
from cep.apps.functions.string_functions import STRING_FUNCTIONS
from cep.apps.functions.time_functions import TIME_FUNCTIONS
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import FunctionCall, ValueType
from cep.apps.parts.scope import Code
from cep.apps.parts.values import (
    NUMERIC,
    Value,
    as_float,
    as_int,
    as_long,
    converted,
    float_text,
    quotient,
    remainder,
    wider,
)

FunctionCode = Callable[[FunctionCall, Sequence[Code]], Code]
_TYPES: tuple[ValueType, ...] = ("string", "int", "long", "float", "double", "decimal", "bool", "object")
_CAST_CLASSES: Mapping[ValueType, tuple[type, ...]] = {
    "string": (str,),
    "int": (int,),
    "long": (int,),
    "float": (float,),
    "double": (float,),
    "bool": (bool,),
}


def cast_value(value: Value, wanted: ValueType, known: ValueType) -> Value:
    """Return the value itself, if it is of that type already. A string to another type fails only when it is used,
    so it passes here: Siddhi does not look at it."""
    if value is None or "object" in (known, wanted) or wanted == known:
        return value
    if wanted == "string":
        return converted(value, "string")
    if isinstance(value, str):
        return value
    return converted(value, wanted)


def first_not_null(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def largest(*values: Value) -> Value:
    return max((value for value in values if value is not None), default=None)


def smallest(*values: Value) -> Value:
    return min((value for value in values if value is not None), default=None)


def set_of(value: Value) -> frozenset[Value]:
    return frozenset((value,))


def size_of(values: Value) -> int | None:
    return None if values is None else len(values)


def row_value(rows: Sequence[tuple[object, ...]], index: int, column: int) -> object:
    """Return a column of one of a pattern's rows; None if there is no such row. From the end if `index` is
    negative."""
    return rows[index][column] if -len(rows) <= index < len(rows) else None


def row_at(rows: Sequence[tuple[object, ...]], index: int) -> tuple[object, ...] | None:
    """One of a pattern's rows; None if there is no such row. From the end if `index` is negative."""
    return rows[index] if -len(rows) <= index < len(rows) else None


def column_values(rows: Sequence[tuple[object, ...]], column: int) -> tuple[object, ...]:
    """Return a column of all of a pattern's rows."""
    return tuple(row[column] for row in rows)


LIBRARY = (*STRING_FUNCTIONS, *MATH_FUNCTIONS, *TIME_FUNCTIONS, *COLLECTION_FUNCTIONS)

RUNTIME_NAMES: Mapping[str, object] = {
    **{one.runtime_name: one.called for one in LIBRARY},
    "row_value": row_value,
    "row_at": row_at,
    "column_values": column_values,
    "as_int": as_int,
    "as_long": as_long,
    "as_float": as_float,
    "quotient": quotient,
    "remainder": remainder,
    "converted": converted,
    "float_text": float_text,
    "cast_value": cast_value,
    "first_not_null": first_not_null,
    "largest": largest,
    "smallest": smallest,
    "set_of": set_of,
    "size_of": size_of,
}
"""What the generated Python calls."""


def null_test(code: Code) -> str:
    """Return the Python of whether a value is null; Python warns if a constant is asked."""
    return "False" if code.is_constant else f"({code.source} is None)"


def _counted(call: FunctionCall, arguments: Sequence[Code], least: int, most: int | None) -> None:
    if len(arguments) < least or (most is not None and len(arguments) > most):
        wanted = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
        raise AppTextError(call.at, f"{call.name}() takes {wanted} arguments, and has {len(arguments)}")


def _same_type(call: FunctionCall, arguments: Sequence[Code]) -> ValueType:
    first = arguments[0].type
    for node, code in zip(call.arguments, arguments, strict=True):
        if code.type != first:
            raise AppTextError(node.at, f"{call.name}() has {first} before, and this is {code.type}")
    return first


def _type_argument(call: FunctionCall, arguments: Sequence[Code], position: int) -> ValueType:
    named = arguments[position].constant
    if isinstance(named, str) and named.lower() in _TYPES:
        return cast(ValueType, named.lower())
    raise AppTextError(call.arguments[position].at, f"a type is expected here: one of {', '.join(_TYPES)}")


def _listed(arguments: Sequence[Code]) -> str:
    return ", ".join(code.source for code in arguments)


def _convert(call: FunctionCall, arguments: Sequence[Code]) -> Code:
    _counted(call, arguments, 2, 2)
    wanted = _type_argument(call, arguments, 1)
    return _as_type(arguments[0], wanted, f"converted({arguments[0].source}, {wanted!r})")


def _cast(call: FunctionCall, arguments: Sequence[Code]) -> Code:
    _counted(call, arguments, 2, 2)
    wanted = _type_argument(call, arguments, 1)
    return _as_type(arguments[0], wanted, f"cast_value({arguments[0].source}, {wanted!r}, {arguments[0].type!r})")


def _as_type(given: Code, wanted: ValueType, source: str) -> Code:
    if given.type == "float" and wanted == "string":
        return Code(f"float_text({given.source})", wanted)
    # as in Siddhi, a null is not true
    return Code(f"({source} or False)" if wanted == "bool" else source, wanted)


def _if_then_else(call: FunctionCall, arguments: Sequence[Code]) -> Code:
    _counted(call, arguments, 3, 3)
    condition, then, otherwise = arguments
    if condition.type != "bool":
        raise AppTextError(call.arguments[0].at, f"a condition is expected here, and this is {condition.type}")
    if then.type != otherwise.type:
        raise AppTextError(call.arguments[2].at, f"{otherwise.type} is another type than {then.type} before")
    return Code(f"({then.source} if {condition.source} else {otherwise.source})", then.type)


def _coalesce(call: FunctionCall, arguments: Sequence[Code]) -> Code:
    _counted(call, arguments, 1, None)
    return Code(f"first_not_null({_listed(arguments)})", _same_type(call, arguments))


def _default(call: FunctionCall, arguments: Sequence[Code]) -> Code:
    _counted(call, arguments, 2, 2)
    return Code(f"first_not_null({_listed(arguments)})", _same_type(call, arguments))


def _extreme(helper: str) -> FunctionCode:
    def code(call: FunctionCall, arguments: Sequence[Code]) -> Code:
        _counted(call, arguments, 1, None)
        type_ = arguments[0].type
        for node, argument in zip(call.arguments, arguments, strict=True):
            wide = wider(type_, argument.type) if argument.type in NUMERIC and type_ in NUMERIC else None
            if wide is None:
                raise AppTextError(
                    node.at, f"{call.name}() takes numbers that can be mixed, and this is {argument.type}"
                )
            type_ = wide
        value = f"{helper}({_listed(arguments)})"
        return Code(value if type_ in ("int", "long", "decimal") else f"converted({value}, {type_!r})", type_)

    return code


def _instance_of(type_: ValueType) -> FunctionCode:
    def code(call: FunctionCall, arguments: Sequence[Code]) -> Code:
        _counted(call, arguments, 1, 1)
        argument = arguments[0]
        if argument.type == "object":
            classes = tuple(one.__name__ for one in _CAST_CLASSES.get(type_, ()))
            return Code(f"(type({argument.source}).__name__ in {classes!r})", "bool")
        return Code(f"(not {null_test(argument)})" if argument.type == type_ else "False", "bool")

    return code


def _without_arguments(source: str, type_: ValueType) -> FunctionCode:
    def code(call: FunctionCall, arguments: Sequence[Code]) -> Code:
        _counted(call, arguments, 0, 0)
        return Code(source, type_)

    return code


def _one_argument(helper: str, type_: ValueType) -> FunctionCode:
    def code(call: FunctionCall, arguments: Sequence[Code]) -> Code:
        _counted(call, arguments, 1, 1)
        return Code(f"{helper}({arguments[0].source})", type_)

    return code


def _variable(call: FunctionCall, arguments: Sequence[Code]) -> Code:
    _counted(call, arguments, 1, 1)
    if arguments[0].type != "string":
        raise AppTextError(call.arguments[0].at, "context:getVar() takes a name in quotes")
    return Code(f"app.variable({arguments[0].source})", "string")


FUNCTIONS: Mapping[str, FunctionCode] = {
    "context:getVar": _variable,
    **{one.name: one.code for one in LIBRARY},
    "convert": _convert,
    "cast": _cast,
    "ifThenElse": _if_then_else,
    "coalesce": _coalesce,
    "default": _default,
    "maximum": _extreme("largest"),
    "minimum": _extreme("smallest"),
    "instanceOfString": _instance_of("string"),
    "instanceOfInteger": _instance_of("int"),
    "instanceOfLong": _instance_of("long"),
    "instanceOfFloat": _instance_of("float"),
    "instanceOfDouble": _instance_of("double"),
    "instanceOfBoolean": _instance_of("bool"),
    "eventTimestamp": _without_arguments("at", "long"),
    "currentTimeMillis": _without_arguments("app.now", "long"),
    "UUID": _without_arguments("app.next_id()", "string"),
    "createSet": _one_argument("set_of", "object"),
    "sizeOfSet": _one_argument("size_of", "int"),
}
"""By the name in the language. A namespace's functions are `namespace:name`."""
