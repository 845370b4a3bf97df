"""From a pattern's tree to its steps."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from cep.apps.compiler.expression_code import ExpressionCompiler, function_of
from cep.apps.compiler.pattern_watch import watches
from cep.apps.compiler.stages import source_columns
from cep.apps.language.app_tree import (
    AbsentStep,
    ChainStep,
    EveryStep,
    Filter,
    LogicalStep,
    PatternInput,
    Step,
    StreamInput,
    StreamStep,
)
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import Attribute, Expression, Operation, Place
from cep.apps.parts.pattern_stages import Part, Passes, StepsLimit
from cep.apps.parts.patterns import PatternPlan, StepPlan
from cep.apps.parts.scope import Code, Columns, Environment, RowScope, TypedColumn, unknown


@dataclass(frozen=True, slots=True)
class _Place:
    """`names` has none if no row is ever kept, as of `not`."""

    names: frozenset[str]
    columns: Columns
    is_counted: bool = False


@dataclass(slots=True)
class PatternScope:
    """The rows of all places, as the Python variable `variable`. `order`: the places as `select *` has them."""

    places: list[_Place] = field(default_factory=list)
    order: Sequence[int] = ()
    variable: str = "row"
    is_selected: bool = True
    """Whether a step with a count that is named without an index means all of its rows; else the last one."""

    def all_columns(self, at: Place) -> tuple[list[str], Columns]:
        """Return what `select *` selects, of every step its attributes, of one with a count those of its first row: the
        Python of each and the columns. What did not come, as of `not`, is null.

        Raises AppTextError if two steps have one name.
        """
        sources, columns = list[str](), list[TypedColumn]()
        for number in self.order:
            for position, column in enumerate(self.places[number].columns):
                if any(other.name == column.name for other in columns):
                    problem = f"several steps have an attribute {column.name!r}: name what is selected, and as what"
                    raise AppTextError(at, problem)
                is_kept = bool(self.places[number].names)
                sources.append(f"row_value({self.variable}[{number}], 0, {position})" if is_kept else "None")
                columns.append(column)
        return sources, tuple(columns)

    def code_of(self, attribute: Attribute) -> Code:
        found = self._place_of(attribute)
        if found is None:
            names = frozenset(name for place in self.places for name in place.names)
            source = attribute.source or attribute.name
            raise unknown(attribute.at, f"there is no step {source!r} before", source, names)
        number, place = found
        rows = f"{self.variable}[{number}]"
        if attribute.source is None and attribute.name in place.names:
            return _step_code(rows, attribute)
        position, column = _column(attribute, place.columns)
        if attribute.index is not None:
            return Code(f"row_value({rows}, {_index(attribute)}, {position})", column.type)
        if place.is_counted and self.is_selected:
            return Code(f"column_values({rows}, {position})", "object")
        return Code(f"row_value({rows}, {-1 if place.is_counted else 0}, {position})", column.type)

    def _place_of(self, attribute: Attribute) -> tuple[int, _Place] | None:
        for number, place in enumerate(self.places):
            if attribute.source is not None and attribute.source in place.names:
                return number, place
            own = bool(place.names) and any(column.name == attribute.name for column in place.columns)
            if attribute.source is None and (own or attribute.name in place.names):
                return number, place
        return None


@dataclass(frozen=True, slots=True)
class _OwnScope:
    """What a step's own condition may name: the row that is looked at, as `row`, and the rows that the step has before
    it, by an index. As in Siddhi `[last]` is the newest of those before, and `[0]` may be the row itself."""

    columns: Columns
    names: frozenset[str]
    number: int
    before: PatternScope
    is_absent: bool

    def code_of(self, attribute: Attribute) -> Code:
        if attribute.index is None or (attribute.source or attribute.name) not in self.names:
            return RowScope(self.columns, self.names, outer=self.before).code_of(attribute)
        if self.is_absent:
            raise AppTextError(attribute.at, "no row of `not` is kept, so none has a number")
        earlier = f"{self.before.variable}[{self.number}]"
        rows = earlier if attribute.index.is_from_last else f"(*{earlier}, row)"
        if attribute.source is None:
            return _step_code(rows, attribute)
        position, column = _column(attribute, self.columns)
        return Code(f"row_value({rows}, {_index(attribute)}, {position})", column.type)


def _column(attribute: Attribute, columns: Columns) -> tuple[int, TypedColumn]:
    """Return the column of that name, with its position. Raises AppTextError."""
    for position, column in enumerate(columns):
        if column.name == attribute.name:
            return position, column
    names = frozenset(column.name for column in columns)
    raise unknown(attribute.at, f"there is no attribute {attribute.name!r}", attribute.name, names)


def _step_code(rows: str, attribute: Attribute) -> Code:
    """Return the code of a step itself, for `is null`: all of its rows, or the one that the index names."""
    found = f"({rows} or None)" if attribute.index is None else f"row_at({rows}, {_index(attribute)})"
    return Code(found, "object")


def _index(attribute: Attribute) -> int:
    index = attribute.index
    if index is None:
        return 0
    return -1 - index.offset if index.is_from_last else index.offset


def pattern_plan(
    read: PatternInput, sources: Mapping[str, Columns], environment: Environment
) -> tuple[PatternPlan, PatternScope]:
    """Raise AppTextError, AppUnsupportedError."""
    compiler = _Steps(sources, environment)
    compiler.add_all(read.steps)
    steps = _with_absence_in_every(compiler.steps) if read.kind == "sequence" else tuple(compiler.steps)
    order = [part.place for step in compiler.steps for part in step.ordered]
    scope = PatternScope(compiler.places, order)
    plan = PatternPlan(read.kind, steps, len(compiler.places), read.within)
    return replace(plan, watches=watches(plan, environment)), scope


def _with_absence_in_every(steps: Sequence[StepPlan]) -> tuple[StepPlan, ...]:
    """In `every a, not b for …, c` Siddhi's `every` is around the absence too: other rows do not break it."""
    if len(steps) != 3 or steps[0].restarts != (0,) or not (steps[1].parts[0].is_absent and len(steps[1].parts) == 1):
        return tuple(steps)
    return replace(steps[0], restarts=()), replace(steps[1], restarts=(0,)), steps[2]


def _most_rows(step: StepPlan) -> float:
    """How many rows a step can have."""
    if step.is_counted:
        return math.inf if step.most is None else step.most
    kept = sum(not part.is_absent for part in step.parts)
    return kept if step.operator == "and" else min(kept, 1)


@dataclass(slots=True)
class _Steps:
    sources: Mapping[str, Columns]
    environment: Environment
    steps: list[StepPlan] = field(default_factory=list)
    places: list[_Place] = field(default_factory=list)

    def add_all(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self._add(step)

    def _add(self, step: Step) -> None:
        match step:
            case StreamStep():
                part = self._part(step)
                self.steps.append(StepPlan((part,), "and", step.least, step.most, step.is_counted))
            case LogicalStep(left=left, right=right):
                self.steps.append(StepPlan((self._part(left), self._part(right)), step.operator))
            case AbsentStep(wait=None):
                raise AppTextError(step.at, "`not` alone needs a time: write `for 5 sec` after it")
            case AbsentStep():
                self.steps.append(StepPlan((self._part(step),)))
            case EveryStep():
                first = len(self.steps)
                self._add(step.step)
                self.steps[-1] = replace(self.steps[-1], restarts=(*self.steps[-1].restarts, first))
            case ChainStep(within=None):
                self.add_all(step.steps)
            case ChainStep():
                self._add_limited(step)

    def _add_limited(self, chain: ChainStep) -> None:
        """Add steps in parentheses with `within`: of several rows from the first one, of one row from that before it.
        Raises AppTextError if there is nothing to count from."""
        first, place = len(self.steps), len(self.places)
        self.add_all(chain.steps)
        steps, places = self.steps[first:], tuple(range(place, len(self.places)))
        if _most_rows(steps[0]) == 0:
            problem = "`within` counts from a row, and these parentheses begin with `not`: put that before them"
            raise AppTextError(chain.at, problem)
        is_one_row = len(steps) == 1 and _most_rows(steps[0]) == 1
        if is_one_row and first == 0:
            problem = "`within` of one row counts from the row before it, and this is the first of the pattern"
            raise AppTextError(chain.at, problem)
        limit = StepsLimit(chain.within or 0, () if is_one_row else places)
        self.steps[first:] = [replace(step, limits=(*step.limits, limit)) for step in steps]

    def _part(self, step: StreamStep | AbsentStep) -> Part:
        columns = source_columns(StreamInput(step.at, step.source), self.sources)
        name = step.source.mark + step.source.name
        reference = None if isinstance(step, AbsentStep) else step.reference
        own_names = frozenset((reference or step.source.name,))
        before = PatternScope(list(self.places), variable="match", is_selected=False)
        place, is_absent = len(self.places), isinstance(step, AbsentStep)
        condition = self._condition(step, _OwnScope(columns, own_names, place, before, is_absent))
        passes, looks_back = (
            cast(Passes, function_of(condition, "row, at, match", self.environment)),
            "match" in condition,
        )
        if isinstance(step, AbsentStep):
            if step.wait == 0:
                raise AppTextError(step.at, "`not` must wait longer than 0")
            self.places.append(_Place(frozenset(), columns))
            return Part(place, name, passes, is_absent=True, looks_back=looks_back, wait=step.wait, source=condition)
        self.places.append(_Place(own_names, columns, step.is_counted))
        if step.most is not None and step.most < step.least:
            raise AppTextError(step.at, "the most is less than the least")
        return Part(place, name, passes, looks_back=looks_back, source=condition)

    def _condition(self, step: StreamStep | AbsentStep, scope: _OwnScope) -> str:
        conditions = list[Expression]()
        for handler in step.handlers:
            if not isinstance(handler, Filter):
                raise AppUnsupportedError(handler.at, "in a pattern a stream can only be filtered")
            conditions.append(handler.condition)
        if not conditions:
            return "True"
        condition = conditions[0]
        for other in conditions[1:]:
            condition = Operation(other.at, "and", condition, other)
        return ExpressionCompiler(scope).condition_of(condition)
