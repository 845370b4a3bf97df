"""From the parse tree's nodes to annotations and definitions: one function for each rule of the grammar."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from lark import Token

from cep.apps.language.app_tree import (
    AggregationDefinition,
    Annotation,
    AnnotationItem,
    ColumnDefinition,
    EventKind,
    FunctionDefinition,
    Scope,
    Selection,
    StreamDefinition,
    TableDefinition,
    TriggerDefinition,
    WindowDefinition,
)
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_builder import string_text
from cep.apps.language.expression_tree import Attribute, Constant, Duration, FunctionCall, Place, ValueType
from cep.apps.language.query_builder import SelectedColumns, stream_input

PERIODS = {
    "SECOND": "sec",
    "MINUTE": "min",
    "HOUR": "hour",
    "DAY": "day",
    "WEEK": "week",
    "MONTH": "month",
    "YEAR": "year",
}
PERIODS_OF_RANGES = ["sec", "min", "hour", "day", "month", "year"]
"""Weeks do not fit into months, so a range leaves them out, as Siddhi's do."""


@dataclass(frozen=True, slots=True)
class Literal:
    text: str
    milliseconds: int | None = None


@dataclass(frozen=True, slots=True)
class Property:
    at: Place
    key: str | None
    value: Literal

    def item(self) -> AnnotationItem:
        return AnnotationItem(self.key, self.value.text)


def literal(_: Place, value: Token | Duration | Constant) -> Literal:
    if isinstance(value, Duration):
        return Literal(f"{value.milliseconds} milliseconds", value.milliseconds)
    if isinstance(value, Constant):
        return Literal(str(value.value))
    return Literal(string_text(value) if value.type == "STRING" else value.lower())


def negative_literal(_: Place, value: Constant) -> Literal:
    return Literal(f"-{value.value}")


def property_key(_: Place, *parts: str) -> str:
    return ".".join(parts)


def bare_item(at: Place, value: Literal) -> Property:
    return Property(at, None, value)


def annotation(at: Place, first: str, second: str | None, *parts: Property | Annotation | None) -> Annotation:
    items = tuple(part.item() for part in parts if isinstance(part, Property))
    inner = tuple(part for part in parts if isinstance(part, Annotation))
    return Annotation(at, f"{first}:{second}" if second else first, items, inner)


def properties(_: Place, *parts: Property) -> tuple[Property, ...]:
    return parts


def items_of(parts: tuple[Property, ...] | None) -> tuple[AnnotationItem, ...]:
    return tuple(part.item() for part in parts or ())


def scope(_: Place, token: Token) -> Scope:
    return cast(Scope, token.lower())


def column(at: Place, name: str, type_: ValueType) -> ColumnDefinition:
    return ColumnDefinition(at, name, type_)


def columns(_: Place, *parts: ColumnDefinition) -> tuple[ColumnDefinition, ...]:
    return parts


Columns = tuple[ColumnDefinition, ...]


def define_stream(at: Place, name: str, own: Columns) -> StreamDefinition:
    return StreamDefinition(at, name, own)


WithProperties = tuple[Property, ...] | None


def create_stream(at: Place, scope_: Scope | None, name: str, with_: WithProperties, own: Columns) -> StreamDefinition:
    actions, others = _with_actions(with_)
    _check_no_others(others)
    return StreamDefinition(at, name, own, scope=scope_, annotations=actions)


def create_sink_stream(
    at: Place, scope_: Scope | None, name: str, with_: WithProperties, own: Columns
) -> StreamDefinition:
    actions, others = _with_actions(with_)
    _check_no_others(others)
    return StreamDefinition(at, name, own, role="sink stream", scope=scope_, annotations=actions)


def create_sink(at: Place, scope_: Scope | None, name: str, with_: WithProperties, own: Columns) -> StreamDefinition:
    actions, others = _with_actions(with_)
    return StreamDefinition(at, name, own, role="sink", scope=scope_, properties=items_of(others), annotations=actions)


def create_source(at: Place, scope_: Scope | None, name: str, with_: WithProperties, own: Columns) -> StreamDefinition:
    actions, others = _with_actions(with_)
    return StreamDefinition(
        at, name, own, role="source", scope=scope_, properties=items_of(others), annotations=actions
    )


def _with_actions(with_: WithProperties) -> tuple[tuple[Annotation, ...], tuple[Property, ...]]:
    """`OnError.action` as the annotation that says the same, and all others."""
    actions = [part for part in with_ or () if (part.key or "").lower() == "onerror.action"]
    others = tuple(part for part in with_ or () if part not in actions)
    items = ((part.at, AnnotationItem("action", part.value.text)) for part in actions)
    return tuple(Annotation(at, "OnError", (item,)) for at, item in items), others


def _check_no_others(others: Sequence[Property]) -> None:
    for other in others:
        raise AppTextError(other.at, f"a stream has no property {other.key!r}: there is OnError.action")


def define_table(at: Place, name: str, own: Columns) -> TableDefinition:
    return TableDefinition(at, name, own)


def create_table(
    at: Place, scope_: Scope | None, name: str, with_: tuple[Property, ...] | None, own: Columns
) -> TableDefinition:
    return TableDefinition(at, name, own, scope=scope_, properties=items_of(with_))


def define_window(
    at: Place, name: str, own: Columns, window: FunctionCall, output: EventKind | None
) -> WindowDefinition:
    return WindowDefinition(at, name, own, window, output or "all")


def trigger_every(at: Place, name: str, every: Duration) -> TriggerDefinition:
    return TriggerDefinition(at, name, every.milliseconds, None)


def trigger_at(at: Place, name: str, expression: Token) -> TriggerDefinition:
    return TriggerDefinition(at, name, None, string_text(expression))


def create_trigger(at: Place, name: str, with_: tuple[Property, ...]) -> TriggerDefinition:
    known = {(part.key or "").lower(): part for part in with_}
    if list(known) == ["interval"]:
        interval = known["interval"]
        if interval.value.milliseconds is None:
            raise AppTextError(interval.at, "a trigger's interval is a time such as 5 sec")
        return TriggerDefinition(at, name, interval.value.milliseconds, None)
    if list(known) == ["expression"]:
        return TriggerDefinition(at, name, None, known["expression"].value.text)
    raise AppTextError(with_[0].at, "a trigger has either an interval or an expression")


def define_function(at: Place, name: str, language: str, returns: ValueType, script: Token) -> FunctionDefinition:
    body_at = Place(script.line or at.line, (script.column or 0) + 1)
    return FunctionDefinition(at, name, language, returns, script[1:-1], body_at=body_at)


def period_range(at: Place, first: Token, last: Token) -> tuple[str, ...]:
    ends = [PERIODS.get(first.type), PERIODS.get(last.type)]
    places = [PERIODS_OF_RANGES.index(end) for end in ends if end in PERIODS_OF_RANGES]
    if len(places) < len(ends) or places[0] > places[1]:
        raise AppTextError(at, f"a range goes from a shorter to a longer of {', '.join(PERIODS_OF_RANGES)}")
    return tuple(PERIODS_OF_RANGES[places[0] : places[1] + 1])


def period_list(at: Place, *units: Token) -> tuple[str, ...]:
    if any(unit.type not in PERIODS for unit in units):
        raise AppTextError(at, f"an aggregation goes by {', '.join(PERIODS.values())}")
    return tuple(PERIODS[unit.type] for unit in units)


def aggregate_by(_: Place, by: Attribute | None, periods: tuple[str, ...]) -> tuple[Attribute | None, tuple[str, ...]]:
    return by, periods


def define_aggregation(
    at: Place,
    name: str,
    unit: Any,
    selected: SelectedColumns,
    group_by: tuple[Attribute, ...] | None,
    aggregate: tuple[Attribute | None, tuple[str, ...]],
) -> AggregationDefinition:
    source = stream_input(unit)
    return AggregationDefinition(at, name, source, Selection(selected, group_by or ()), *aggregate)


def create_aggregation(
    at: Place,
    name: str,
    with_: tuple[Property, ...] | None,
    selected: SelectedColumns,
    unit: Any,
    group_by: tuple[Attribute, ...] | None,
    aggregate: tuple[Attribute | None, tuple[str, ...]],
) -> AggregationDefinition:
    source = stream_input(unit)
    selection = Selection(selected, group_by or ())
    return AggregationDefinition(at, name, source, selection, *aggregate, properties=items_of(with_))


DEFINITION_BUILDERS: dict[str, Callable[..., Any]] = {
    "literal": literal,
    "negative_literal": negative_literal,
    "property_key": property_key,
    "property": Property,
    "bare_item": bare_item,
    "annotation": annotation,
    "properties": properties,
    "scope": scope,
    "column": column,
    "columns": columns,
    "define_stream": define_stream,
    "create_stream": create_stream,
    "create_sink_stream": create_sink_stream,
    "create_sink": create_sink,
    "create_source": create_source,
    "define_table": define_table,
    "create_table": create_table,
    "define_window": define_window,
    "trigger_every": trigger_every,
    "trigger_at": trigger_at,
    "create_trigger": create_trigger,
    "define_function": define_function,
    "period_range": period_range,
    "period_list": period_list,
    "aggregate_by": aggregate_by,
    "define_aggregation": define_aggregation,
    "create_aggregation": create_aggregation,
}
