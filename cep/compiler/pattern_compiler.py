"""From a pattern's tree to its steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from cep.compiler.expression_code import ExpressionCompiler, function_of
from cep.compiler.stages import source_columns
from cep.language.app_tree import (
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
from cep.language.expression_tree import Attribute, Expression, Operation, Place
from cep.language.language_errors import AppTextError, AppUnsupportedError
from cep.parts.pattern_stages import Part, Passes
from cep.parts.patterns import PatternPlan, StepPlan
from cep.parts.scope import Code, Columns, Environment, RowScope, TypedColumn, unknown


@dataclass(frozen=True, slots=True)
class _Place:
    names: frozenset[str]
    columns: Columns
    is_counted: bool = False


@dataclass(slots=True)
class PatternScope:
    """The rows of all places, as the Python variable `row`."""

    places: list[_Place] = field(default_factory=list)
    variable: str = "row"

    def all_columns(self, at: Place) -> tuple[list[str], Columns]:
        """What `select *` selects, of every step its attributes: the Python of each and the columns.

        Raises AppTextError where two steps have one name, AppUnsupportedError where a step may have several rows.
        """
        sources, columns = list[str](), list[TypedColumn]()
        for number, place in enumerate(self.places):
            if place.is_counted:
                raise AppUnsupportedError(
                    at, "`select *` of a pattern with counts is not supported: name the attributes"
                )
            for position, column in enumerate(place.columns):
                if any(other.name == column.name for other in columns):
                    problem = f"several steps have an attribute {column.name!r}: name what is selected, and as what"
                    raise AppTextError(at, problem)
                sources.append(f"row_value({self.variable}[{number}], 0, {position})")
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
            return Code(f"({rows} or None)", "object")
        for position, column in enumerate(place.columns):
            if column.name == attribute.name:
                return Code(f"row_value({rows}, {_index(attribute)}, {position})", column.type)
        names = frozenset(column.name for column in place.columns)
        raise unknown(attribute.at, f"there is no attribute {attribute.name!r}", attribute.name, names)

    def _place_of(self, attribute: Attribute) -> tuple[int, _Place] | None:
        for number, place in enumerate(self.places):
            if attribute.source is not None and attribute.source in place.names:
                return number, place
            own = attribute.name in place.names or any(column.name == attribute.name for column in place.columns)
            if attribute.source is None and own:
                return number, place
        return None


def _index(attribute: Attribute) -> int:
    if attribute.index is None:
        return 0
    return -1 - attribute.index.offset if attribute.index.is_from_last else attribute.index.offset


def pattern_plan(
    read: PatternInput, sources: Mapping[str, Columns], environment: Environment
) -> tuple[PatternPlan, PatternScope]:
    """Raises AppTextError, AppUnsupportedError."""
    compiler = _Steps(sources, environment)
    compiler.add_all(read.steps)
    steps = _with_absence_in_every(compiler.steps) if read.kind == "sequence" else tuple(compiler.steps)
    scope = PatternScope(compiler.places)
    return PatternPlan(read.kind, steps, len(compiler.places), read.within), scope


def _with_absence_in_every(steps: Sequence[StepPlan]) -> tuple[StepPlan, ...]:
    """In `every a, not b for …, c` Siddhi's `every` is around the absence too: other rows do not break it."""
    if len(steps) != 3 or steps[0].restarts != (0,) or not (steps[1].parts[0].is_absent and len(steps[1].parts) == 1):
        return tuple(steps)
    return replace(steps[0], restarts=()), replace(steps[1], restarts=(0,)), steps[2]


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
                raise AppTextError(step.at, "`within` stands at the end of a whole pattern, not in its parentheses")

    def _part(self, step: StreamStep | AbsentStep) -> Part:
        columns = source_columns(StreamInput(step.at, step.source), self.sources)
        name = step.source.mark + step.source.name
        reference = None if isinstance(step, AbsentStep) else step.reference
        own_names = frozenset((reference or step.source.name,))
        before = PatternScope(list(self.places), "match")
        scope = RowScope(columns, own_names, outer=before)
        condition = self._condition(step, scope)
        passes, looks_back = (
            cast(Passes, function_of(condition, "row, at, match", self.environment)),
            "match" in condition,
        )
        place = len(self.places)
        if isinstance(step, AbsentStep):
            if step.wait == 0:
                raise AppTextError(step.at, "`not` must wait longer than 0")
            # no row of it is ever there to be read
            self.places.append(_Place(frozenset(), ()))
            return Part(place, name, passes, is_absent=True, looks_back=looks_back, wait=step.wait)
        self.places.append(_Place(own_names, columns, step.is_counted))
        if step.most is not None and step.most < step.least:
            raise AppTextError(step.at, "the most is less than the least")
        return Part(place, name, passes, looks_back=looks_back)

    def _condition(self, step: StreamStep | AbsentStep, scope: RowScope) -> str:
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
