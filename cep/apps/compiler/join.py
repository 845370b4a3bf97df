"""From a join's tree to its two sides and its condition."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from cep.apps.compiler.aggregation_reads import Buckets, Finds, aggregation_finds
from cep.apps.compiler.stages import MakeStage, RowPasses, filter_stage, row_condition, source_columns
from cep.apps.compiler.stream_functions import stream_function
from cep.apps.compiler.window_arguments import MakeWindow
from cep.apps.compiler.window_plans import window_plan
from cep.apps.language.app_tree import Filter, JoinInput, StreamFunction, StreamInput, Window
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import Attribute
from cep.apps.parts.joins import PassingWindow
from cep.apps.parts.scope import Code, Columns, Environment, RowScope, Scope, unknown
from cep.apps.parts.tables import Table


@dataclass(frozen=True, slots=True)
class SidePlan:
    """`before`: stages before the window; `window` is None if a named window or a table is read."""

    source: str
    before: tuple[MakeStage, ...]
    window: MakeWindow | None
    width: int
    triggers: bool
    is_outer: bool
    table: Table | None = None
    finds: Finds | None = None
    """Where the side is an aggregation."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What an app keeps by name."""

    tables: Mapping[str, Table]
    aggregations: Mapping[str, Buckets]


@dataclass(frozen=True, slots=True)
class JoinPlan:
    left: SidePlan
    right: SidePlan
    meets: RowPasses


@dataclass(frozen=True, slots=True)
class JoinScope:
    """Both sides' attributes, in one row."""

    left: RowScope
    right: RowScope

    @property
    def columns(self) -> Columns:
        return (*self.left.columns, *self.right.columns)

    def code_of(self, attribute: Attribute) -> Code:
        sides = [side for side in (self.left, self.right) if attribute.source is None or attribute.source in side.names]
        if not sides:
            names = self.left.names | self.right.names
            source = str(attribute.source)
            raise unknown(attribute.at, f"there is no stream {source!r} here", source, names)
        has = [side for side in sides if any(column.name == attribute.name for column in side.columns)]
        if len(has) > 1:
            raise AppTextError(attribute.at, f"both sides have an attribute {attribute.name!r}: write whose it is")
        return (has or sides)[0].code_of(attribute)


def join_plan(
    read: JoinInput,
    sources: Mapping[str, Columns],
    kept: frozenset[str],
    stored: Stored,
    environment: Environment,
) -> tuple[JoinPlan, JoinScope]:
    """`kept`: named windows. Raises AppTextError, AppUnsupportedError."""
    names = [side.source.name for side in (read.left, read.right)]
    if all(name in stored.tables or name in stored.aggregations for name in names):
        raise AppTextError(read.at, "one side of a join must be a stream")
    if (read.within or read.per is not None) and not any(name in stored.aggregations for name in names):
        raise AppTextError(read.at, "`within` and `per` are for aggregations, and neither side is one")
    (left, left_scope), (right, right_scope) = (
        _stored_side(side, read, stored)
        if side.source.name in stored.tables or side.source.name in stored.aggregations
        else _side(side, read, sources, kept, environment)
        for side in (read.left, read.right)
    )
    _check_keeps(read, left, right)
    left, right = (
        replace(plan, finds=_finds(side, read, stored, cast(Scope, asks), environment))
        if side.source.name in stored.aggregations
        else plan
        for side, plan, asks in ((read.left, left, right_scope), (read.right, right, left_scope))
    )
    scope = JoinScope(left_scope, _moved(right_scope, len(left_scope.columns)))
    return JoinPlan(left, right, row_condition(read.on, cast(Scope, scope), environment)), scope


def _finds(side: StreamInput, read: JoinInput, stored: Stored, asks: Scope, environment: Environment) -> Finds:
    terms = stored.aggregations[side.source.name].terms
    return aggregation_finds(side.at, read.within, read.per, asks, environment, terms)


def _check_keeps(read: JoinInput, left: SidePlan, right: SidePlan) -> None:
    """Raise AppTextError if no row could ever meet another."""
    pairs = ((left, right, read.right), (right, left, read.left))
    asked = [(met, side) for plan, met, side in pairs if plan.triggers]
    if read.kind != "inner" or any(met.window is not PassingWindow for met, _ in asked):
        return
    names = [side.alias or side.source.mark + side.source.name for _, side in asked]
    if len(names) == 1:
        problem = f"{names[0]!r} keeps none, and only the other side's rows ask: give {names[0]!r} a window"
    else:
        problem = "neither side keeps any: give one of them a window"
    raise AppTextError(read.at, f"no row of this join can ever meet another, as {problem}")


def _stored_side(side: StreamInput, read: JoinInput, stored: Stored) -> tuple[SidePlan, RowScope]:
    """Compile a side that is met, as a table or an aggregation is, and starts nothing itself."""
    if side.handlers or side.is_unidirectional:
        problem = "a table or an aggregation in a join takes no filter, window or `unidirectional`"
        raise AppUnsupportedError(side.at, problem)
    name, table = side.source.name, stored.tables.get(side.source.name)
    columns = stored.aggregations[name].columns if table is None else table.columns
    scope = RowScope(columns, frozenset((side.alias or name, name)))
    is_outer = read.kind in ("full", "left" if side is read.left else "right")
    plan = SidePlan(name, (), None, len(columns), triggers=False, is_outer=is_outer, table=table)
    return plan, scope


def _moved(scope: RowScope, offset: int) -> RowScope:
    return RowScope(scope.columns, scope.names, scope.variable, offset)


def _side(
    side: StreamInput,
    read: JoinInput,
    sources: Mapping[str, Columns],
    kept: frozenset[str],
    environment: Environment,
) -> tuple[SidePlan, RowScope]:
    columns = source_columns(side, sources)
    name = side.source.mark + side.source.name
    scope = RowScope(columns, frozenset((side.alias or side.source.name, side.source.name)))
    if side.alias is not None and read.left.source.name == read.right.source.name:
        scope = RowScope(columns, frozenset((side.alias,)))
    before, window, scope = _handled(side, scope, environment)
    is_left, other = side is read.left, read.right if side is read.left else read.left
    if name in kept and window is not None:
        raise AppUnsupportedError(side.at, f"{name} is a window: it takes no second one in a join yet")
    if window is None and name not in kept:
        window = PassingWindow
    plan = SidePlan(
        source=name,
        before=tuple(before),
        window=window,
        width=len(scope.columns),
        triggers=_triggers(side, other, is_left=is_left, is_kept=name in kept),
        is_outer=read.kind in ("full", "left" if is_left else "right"),
    )
    return plan, scope


def _triggers(side: StreamInput, other: StreamInput, *, is_left: bool, is_kept: bool) -> bool:
    """Whether the side's rows are joined as they come. Of a named window that meets itself those of the left side are:
    the right side's are the same."""
    if side.is_unidirectional or other.is_unidirectional:
        return side.is_unidirectional
    return is_left or not (is_kept and side.source.name == other.source.name)


def _handled(
    side: StreamInput, scope: RowScope, environment: Environment
) -> tuple[list[MakeStage], MakeWindow | None, RowScope]:
    """Stages before the window, the window if there is one, and the scope after them."""
    before = list[MakeStage]()
    for handler in side.handlers:
        match handler:
            case Window(window=call):
                if handler is not side.handlers[-1]:
                    raise AppUnsupportedError(handler.at, "in a join nothing may stand after the window yet")
                return before, window_plan(call, scope, environment), scope
            case Filter(condition=condition):
                before.append(filter_stage(condition, scope, environment))
            case StreamFunction(call=call):
                stage, scope = stream_function(call, scope, environment)
                before.append(stage)
    return before, None, scope
