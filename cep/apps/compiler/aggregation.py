"""From an aggregation's tree to its plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from cep.apps.compiler.aggregation_reads import TIMES
from cep.apps.compiler.calendar_terms import calendar_terms
from cep.apps.compiler.expression_code import function_of
from cep.apps.compiler.query import QUERY_AGGREGATORS, MakeKind, Selecting
from cep.apps.compiler.stages import MakeStage, filter_stage, source_columns
from cep.apps.language.app_ends import aggregation_options
from cep.apps.language.app_tree import AggregationDefinition, Filter
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import FunctionCall
from cep.apps.parts.aggregations import Aggregation, CalendarTerms, Time
from cep.apps.parts.aggregators import AggregatorKind
from cep.apps.parts.app_context import PartContext
from cep.apps.parts.calendar import time_range
from cep.apps.parts.chunks import Row
from cep.apps.parts.scope import Code, Columns, Environment, RowScope, TypedColumn
from cep.apps.parts.selector import SelectorPlan

START = TypedColumn("AGG_TIMESTAMP", "long")
"""When a bucket begins, before the selected columns."""
OF_BUCKETS: Mapping[str, MakeKind] = {
    **QUERY_AGGREGATORS,
    # nothing leaves a bucket, so one value says it
    "min": QUERY_AGGREGATORS["minForever"],
    "max": QUERY_AGGREGATORS["maxForever"],
}
SMALL = ("count", "sum", "avg", "stdDev", "min", "max", "minForever", "maxForever", "and", "or")
"""Aggregators whose state has one size, so that it can be written with each row."""


@dataclass(frozen=True, slots=True)
class AggregationPlan:
    """`aggregated`: the names of its aggregators, in their order."""

    source: str
    stages: tuple[MakeStage, ...]
    selection: SelectorPlan
    columns: Columns
    time_of: Time
    terms: CalendarTerms
    width: int
    """How many columns a row has that comes in."""
    aggregated: tuple[str, ...]

    def made(self, context: PartContext) -> Aggregation:
        return Aggregation(context, self.selection, self.time_of, self.terms)


def aggregation_plan(
    definition: AggregationDefinition, sources: Mapping[str, Columns], environment: Environment
) -> AggregationPlan:
    """Raise AppTextError, AppUnsupportedError."""
    read, terms = definition.input, calendar_terms(definition)
    columns = source_columns(read, sources)
    scope = RowScope(columns, frozenset(name for name in (read.source.name, read.alias) if name is not None))
    stages = []
    for handler in read.handlers:
        if not isinstance(handler, Filter):
            raise AppUnsupportedError(handler.at, "the stream of an aggregation can only be filtered")
        stages.append(filter_stage(handler.condition, scope, environment))
    aggregated: list[str] = []
    selecting = Selecting(scope, environment, aggregators=_noted(aggregated, _aggregators(definition, columns)))
    selection, selected = selecting.plan(definition.at, definition.selection, "current")
    return AggregationPlan(
        read.source.name,
        tuple(stages),
        selection,
        (START, *selected),
        _time_of(definition, scope, environment, terms),
        terms,
        len(columns),
        tuple(aggregated),
    )


def _aggregators(definition: AggregationDefinition, columns: Columns) -> Mapping[str, MakeKind]:
    """Return those that it may have. Raises AppUnsupportedError if it is to be stored and has rows that no document
    keeps."""
    if "store.type" not in aggregation_options(definition):
        return OF_BUCKETS
    odd = next((one.name for one in columns if one.type == "object"), None)
    if odd is not None:
        problem = f"{definition.name!r} is stored, and {odd!r} of its stream is an object, which no document keeps"
        raise AppUnsupportedError(definition.at, problem)
    return {name: make if name in SMALL else _too_large for name, make in OF_BUCKETS.items()}


def _too_large(call: FunctionCall, _: Sequence[Code]) -> AggregatorKind:
    problem = f"a stored aggregation has no {call.full_name}(), which keeps all values: there are {', '.join(SMALL)}"
    raise AppUnsupportedError(call.at, problem)


def _noted(names: list[str], aggregators: Mapping[str, MakeKind]) -> Mapping[str, MakeKind]:
    """Return the aggregators, which write their names down as they are used."""

    def noted(name: str, make: MakeKind) -> MakeKind:
        def made(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
            kind = make(call, arguments)
            names.append(name)
            return kind

        return made

    return {name: noted(name, make) for name, make in aggregators.items()}


def _time_of(
    definition: AggregationDefinition, scope: RowScope, environment: Environment, terms: CalendarTerms
) -> Time:
    """Raise AppTextError."""
    if definition.by is None:
        return _came
    code = scope.code_of(definition.by)
    if code.type not in TIMES:
        raise AppTextError(definition.by.at, "the time must be a long, in milliseconds, or a string")
    written = cast(Time, function_of(code.source, "row, at", environment))
    return written if code.type == "long" else _read_time(written, terms)


def _came(_row: Row, at: int) -> int:
    return at


def _read_time(written: Time, terms: CalendarTerms) -> Time:
    def time_of(row: Row, at: int) -> int | None:
        text = written(row, at)
        return None if text is None else time_range(text, terms.zone)[0]

    return time_of
