"""Parts that a query's stream goes through before it is selected."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from cep.apps.compiler.expression_code import ExpressionCompiler, function_of
from cep.apps.compiler.window_arguments import MakeWindow
from cep.apps.language.app_tree import StreamInput
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Expression
from cep.apps.parts.app_context import PartContext
from cep.apps.parts.chunks import Chunk, Receiver, Row
from cep.apps.parts.scope import Columns, Environment, RowScope, Scope, unknown

MakeStage = Callable[[PartContext, Receiver], Receiver]
"""A part of a query with nothing in it yet, which passes what it makes on."""


RowPasses = Callable[[Row, int], bool]
"""Takes a row and its time."""


def source_columns(read: StreamInput, sources: Mapping[str, Columns]) -> Columns:
    """Raise AppTextError if there is no such stream."""
    name = read.source.mark + read.source.name
    if read.source.mark == "!" and name not in sources:
        problem = f"there is no stream {name!r}: it takes @OnError(action = 'stream') at the definition of {name[1:]!r}"
        raise AppTextError(read.at, problem)
    if name not in sources:
        raise unknown(read.at, f"there is no stream {name!r}", name, list(sources))
    return sources[name]


def row_condition(condition: Expression | None, scope: Scope, environment: Environment) -> RowPasses:
    """Return the condition, always true if there is none. Raises AppTextError."""
    source = "True" if condition is None else _condition_source(condition, scope, environment)
    return cast(RowPasses, function_of(source, "row, at", environment))


def _condition_source(condition: Expression, scope: Scope, environment: Environment) -> str:
    return ExpressionCompiler(scope, in_table=environment.in_table).condition_of(condition)


@dataclass(frozen=True, slots=True)
class FilterStage:
    """`source`: the condition's Python, which `passes` is of."""

    source: str
    passes: RowPasses

    def __call__(self, _: PartContext, emit: Receiver) -> Receiver:
        passes = self.passes

        def receive(chunk: Chunk) -> None:
            passed = [event for event in chunk if passes(event[2], event[1])]
            if passed:
                emit(passed)

        return receive


@dataclass(frozen=True, slots=True)
class WindowStage:
    make: MakeWindow

    def __call__(self, context: PartContext, emit: Receiver) -> Receiver:
        return self.make(context, emit).receive


def filter_stage(condition: Expression, scope: RowScope, environment: Environment) -> FilterStage:
    """Raise AppTextError."""
    source = _condition_source(condition, scope, environment)
    return FilterStage(source, cast(RowPasses, function_of(source, "row, at", environment)))
