"""Rows that people write, by the columns of a stream: names and types checked, values as the engine computes them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from cep.apps.language.decimals import decimal_of
from cep.apps.language.expression_tree import ValueType
from cep.apps.parts.chunks import Row
from cep.apps.parts.scope import Columns, TypedColumn, with_nearest
from cep.apps.parts.values import Value

_TYPES: Mapping[ValueType, tuple[type, ...]] = {
    "string": (str,),
    "int": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "bool": (bool,),
    "decimal": (str, int, Decimal),
}
"""What a value may be for each type of a column; any for others. A decimal is a text in JSON, whose numbers are
doubles."""
_BITS: Mapping[ValueType, int] = {"int": 32, "long": 64}


def row_of(columns: Columns, values: Mapping[str, Value] | Sequence[Value]) -> Row:
    """`values`: by the names of columns, of which those that are left out are null; or all, in their order.

    Raises ValueError if they are no row of these columns, with what follows after "the row".
    """
    if isinstance(values, Mapping):
        names = [column.name for column in columns]
        other = next((name for name in values if name not in names), None)
        if other is not None:
            raise ValueError(with_nearest(f"has no column {other!r}", other, names))
        values = [values.get(name) for name in names]
    if len(values) != len(columns):
        raise ValueError(f"has {len(values)} values for {len(columns)} columns")
    return tuple(None if one is None else _value(column, one) for column, one in zip(columns, values, strict=True))


def _value(column: TypedColumn, value: Value) -> Value:
    if type(value) not in _TYPES.get(column.type, (type(value),)):
        raise ValueError(f"has {value!r} in {column.name!r}, which is {column.type}")
    match column.type:
        case "int" | "long":
            half = 1 << (_BITS[column.type] - 1)
            if not -half <= value < half:
                raise ValueError(f"has a number of more than {_BITS[column.type]} bits in {column.name!r}")
        case "float" | "double":
            return _double(column, value)
        case "decimal":
            return _decimal(column, value)
        case _:
            pass
    return value


def _double(column: TypedColumn, value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"has a number in {column.name!r} that no {column.type} holds") from None


def _decimal(column: TypedColumn, value: str | int | Decimal) -> Decimal:
    try:
        return decimal_of(str(value))
    except ValueError as error:
        raise ValueError(f"has no decimal in {column.name!r}: {error}") from None
