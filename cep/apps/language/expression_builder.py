"""From the parse tree's nodes to an expression: one function for each rule of the grammar that makes a part of one."""

from collections.abc import Callable
from typing import Any, cast

from lark import Token

from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import (
    Attribute,
    Constant,
    Duration,
    EventIndex,
    Expression,
    FunctionCall,
    InTable,
    IsNull,
    Mark,
    Negative,
    Not,
    Operation,
    Operator,
    Place,
    ValueType,
)

MILLISECONDS = {
    "MILLISECOND": 1,
    "SECOND": 1_000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": 86_400_000,
    "WEEK": 7 * 86_400_000,
    "MONTH": 30 * 86_400_000,
    "YEAR": 365 * 86_400_000,
}
"""As in Siddhi: a month has 30 days, a year 365."""
LARGEST = {"int": 2**31 - 1, "long": 2**63 - 1}
MOST_DIGITS = 19
STAR = object()
"""The argument of `count(*)`."""


def whole_number(at: Place, token: str, type_: str) -> int:
    # The number of digits first: Python refuses to read thousands of them.
    digits = token.lstrip("0")
    value = int(digits or "0") if len(digits) <= MOST_DIGITS else None
    if value is None or value > LARGEST[type_] + 1:  # one more, for the smallest number: its sign is read apart
        advice = "; a long ends with L" if type_ == "int" else ""
        raise AppTextError(at, f"{token[:30]} is too large for {type_}{advice}")
    return value


def name(_: Place, token: Token) -> str:
    return token[1:-1] if token.type == "QUOTED_ID" else str(token)


def type_name(_: Place, token: Token) -> ValueType:
    return cast(ValueType, token.lower())


def string_text(token: str) -> str:
    return token[3:-3] if token.startswith('"""') else token[1:-1]


def string(at: Place, token: Token) -> Constant:
    return Constant(at, string_text(token), "string")


def true(at: Place, _: Token) -> Constant:
    return Constant(at, value=True, type="bool")


def false(at: Place, _: Token) -> Constant:
    return Constant(at, value=False, type="bool")


def number(at: Place, token: Token) -> Constant:
    if token.type == "INT":
        return Constant(at, whole_number(at, token, "int"), "int")
    if token.type == "LONG":
        return Constant(at, whole_number(at, token[:-1], "long"), "long")
    if token.type == "FLOAT":
        return Constant(at, float(token[:-1]), "float")
    return Constant(at, float(token.rstrip("dD")), "double")


def unit_word(_: Place, token: Token) -> Token:
    return token


def duration_part(at: Place, amount: Token, unit: Token) -> int:
    return whole_number(at, amount, "long") * MILLISECONDS[unit.type]


def duration(at: Place, *parts: int) -> Duration:
    milliseconds = sum(parts)
    if milliseconds > LARGEST["long"]:
        raise AppTextError(at, "the time is too long")
    return Duration(at, milliseconds)


def operation(at: Place, left: Expression, operator: Token, right: Expression) -> Operation:
    return Operation(at, cast(Operator, operator.lower()), left, right)


def negation(at: Place, _: Token, operand: Expression) -> Not:
    return Not(at, operand)


def negative(at: Place, operand: Expression) -> Expression:
    if isinstance(operand, Constant) and isinstance(operand.value, int | float) and operand.type != "bool":
        return Constant(at, -operand.value, operand.type)
    return Negative(at, operand)


def positive(_: Place, operand: Expression) -> Expression:
    return operand


def is_null(at: Place, operand: Expression) -> IsNull:
    return IsNull(at, operand)


def in_table(at: Place, operand: Expression, table: str) -> InTable:
    return InTable(at, operand, table)


def star(_: Place) -> object:
    return STAR


def call(at: Place, namespace: str | None, called: str, *arguments: Any) -> FunctionCall:
    if arguments == (STAR,):
        return FunctionCall(at, namespace, called, (), is_star=True)
    return FunctionCall(at, namespace, called, tuple(argument for argument in arguments if argument is not None))


def attribute(at: Place, mark: Token | None, first: str, index: EventIndex | None, second: str | None) -> Attribute:
    own_mark = cast(Mark, str(mark or ""))
    if second is None:
        return Attribute(at, first, None, index, own_mark)
    return Attribute(at, second, first, index, own_mark)


def index_from_first(at: Place, offset: Token) -> EventIndex:
    return EventIndex(whole_number(at, offset, "int"), is_from_last=False)


def index_from_last(at: Place, _: Token, offset: Token | None) -> EventIndex:
    return EventIndex(whole_number(at, offset or "0", "int"), is_from_last=True)


EXPRESSION_BUILDERS: dict[str, Callable[..., Any]] = {
    "name": name,
    "type": type_name,
    "string": string,
    "true": true,
    "false": false,
    "number": number,
    "unit_word": unit_word,
    "duration_part": duration_part,
    "duration": duration,
    "operation": operation,
    "not_": negation,
    "negative": negative,
    "positive": positive,
    "is_null": is_null,
    "in_table": in_table,
    "star": star,
    "call": call,
    "attribute": attribute,
    "index_from_first": index_from_first,
    "index_from_last": index_from_last,
}
