"""From a join's tree to its two sides and its condition."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from cep.compiler.stages import MakeStage, RowPasses, filter_stage, row_condition, source_columns
from cep.compiler.stream_functions import stream_function
from cep.compiler.window_plans import MakeWindow, is_batch, window_plan
from cep.language.app_tree import Filter, JoinInput, StreamFunction, StreamInput, Window
from cep.language.expression_tree import Attribute
from cep.language.language_errors import AppTextError, AppUnsupportedError
from cep.parts.joins import PassingWindow
from cep.parts.scope import Code, Columns, Environment, RowScope, Scope, unknown
from cep.parts.tables import Table


@dataclass(frozen=True, slots=True)
class SidePlan:
    """`before`: stages before the window; `window` is None where a named window or a table is read."""

    source: str
    before: tuple[MakeStage, ...]
    window: MakeWindow | None
    width: int
    triggers: bool
    is_outer: bool
    table: Table | None = None


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
    tables: Mapping[str, Table],
    environment: Environment,
) -> tuple[JoinPlan, JoinScope]:
    """`kept`: named windows. Raises AppTextError, AppUnsupportedError."""
    if read.within or read.per is not None:
        raise AppUnsupportedError(read.at, "joins with aggregations are not supported yet")
    if read.left.source.name in tables and read.right.source.name in tables:
        raise AppTextError(read.at, "one side of a join must be a stream")
    (left, left_scope), (right, right_scope) = (
        _table_side(side, read, tables[side.source.name])
        if side.source.name in tables
        else _side(side, read, sources, kept, environment)
        for side in (read.left, read.right)
    )
    scope = JoinScope(left_scope, _moved(right_scope, len(left_scope.columns)))
    return JoinPlan(left, right, row_condition(read.on, cast(Scope, scope), environment)), scope


def _table_side(side: StreamInput, read: JoinInput, table: Table) -> tuple[SidePlan, RowScope]:
    """A table is met, and starts nothing itself."""
    if side.handlers or side.is_unidirectional:
        raise AppUnsupportedError(side.at, "a table in a join takes no filter, window or `unidirectional`")
    names = frozenset((side.alias or side.source.name, side.source.name))
    scope = RowScope(table.columns, names)
    is_outer = read.kind in ("full", "left" if side is read.left else "right")
    plan = SidePlan(side.source.name, (), None, len(table.columns), triggers=False, is_outer=is_outer, table=table)
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
        triggers=side.is_unidirectional or not other.is_unidirectional,
        is_outer=read.kind in ("full", "left" if is_left else "right"),
    )
    return plan, scope


def _handled(
    side: StreamInput, scope: RowScope, environment: Environment
) -> tuple[list[MakeStage], MakeWindow | None, RowScope]:
    """Stages before the window, the window where there is one, and the scope after them."""
    before = list[MakeStage]()
    for handler in side.handlers:
        match handler:
            case Window(window=call):
                if handler is not side.handlers[-1]:
                    raise AppUnsupportedError(handler.at, "in a join nothing may stand after the window yet")
                if is_batch(call):
                    raise AppUnsupportedError(call.at, f"in a join the window {call.name} is not supported yet")
                return before, window_plan(call, scope, environment), scope
            case Filter(condition=condition):
                before.append(filter_stage(condition, scope, environment))
            case StreamFunction(call=call):
                stage, scope = stream_function(call, scope, environment)
                before.append(stage)
    return before, None, scope
