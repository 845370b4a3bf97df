"""From an aggregation's tree to its plan."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from cep.apps.compiler.aggregation_reads import TIMES
from cep.apps.compiler.expression_code import function_of
from cep.apps.compiler.query import Selecting
from cep.apps.compiler.stages import MakeStage, filter_stage, source_columns
from cep.apps.language.app_tree import AggregationDefinition, Filter
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.parts.aggregations import Aggregation, Time
from cep.apps.parts.app_context import PartContext
from cep.apps.parts.calendar import time_range
from cep.apps.parts.chunks import Row
from cep.apps.parts.scope import Columns, Environment, RowScope, TypedColumn
from cep.apps.parts.selector import SelectorPlan

START = TypedColumn("AGG_TIMESTAMP", "long")
"""When a bucket begins, before the selected columns."""


@dataclass(frozen=True, slots=True)
class AggregationPlan:
    source: str
    stages: tuple[MakeStage, ...]
    selection: SelectorPlan
    columns: Columns
    time_of: Time
    durations: tuple[str, ...]

    def made(self, context: PartContext) -> Aggregation:
        return Aggregation(context, self.selection, self.time_of, self.durations)


def aggregation_plan(
    definition: AggregationDefinition, sources: Mapping[str, Columns], environment: Environment
) -> AggregationPlan:
    """Raise AppTextError, AppUnsupportedError."""
    read = definition.input
    columns = source_columns(read, sources)
    scope = RowScope(columns, frozenset(name for name in (read.source.name, read.alias) if name is not None))
    stages = []
    for handler in read.handlers:
        if not isinstance(handler, Filter):
            raise AppUnsupportedError(handler.at, "the stream of an aggregation can only be filtered")
        stages.append(filter_stage(handler.condition, scope, environment))
    selection, selected = Selecting(scope, environment).plan(definition.at, definition.selection, "current")
    time_of: Time = _came
    if definition.by is not None:
        code = scope.code_of(definition.by)
        if code.type not in TIMES:
            raise AppTextError(definition.by.at, "the time must be a long, in milliseconds, or a string")
        written = cast(Time, function_of(code.source, "row, at", environment))
        time_of = written if code.type == "long" else _read_time(written)
    return AggregationPlan(
        read.source.name, tuple(stages), selection, (START, *selected), time_of, definition.durations
    )


def _came(_row: Row, at: int) -> int:
    return at


def _read_time(written: Time) -> Time:
    def time_of(row: Row, at: int) -> int | None:
        text = written(row, at)
        return None if text is None else time_range(text)[0]

    return time_of
