"""From the text of a window `expression` or `expressionBatch` to its condition."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from cep.compiler.expression_code import ExpressionCompiler, function_of
from cep.compiler.window_arguments import MakeWindow, WindowArguments
from cep.language.app_parser import parse_expression
from cep.language.expression_tree import Attribute, FunctionCall
from cep.language.language_errors import AppTextError
from cep.parts.aggregators import AGGREGATORS, AggregatorKind
from cep.parts.expression_windows import ExpressionBatchWindow, ExpressionWindow, HeldCondition, Holds
from cep.parts.scope import Code, RowScope

ENDS = ("first", "last")


@dataclass(slots=True)
class HeldScope:
    """Attributes of the event itself, and of the first and the last one in the window: `first.price`."""

    row: RowScope
    kinds: list[AggregatorKind] = field(default_factory=list)

    def code_of(self, attribute: Attribute) -> Code:
        if attribute.source in ENDS:
            end = RowScope(self.row.columns, frozenset(ENDS), f"{attribute.source}[2]")
            return end.code_of(attribute)
        return self.row.code_of(attribute)

    def called(self, call: FunctionCall) -> Code | None:
        """Aggregators, and the times of both ends."""
        match call:
            case FunctionCall(namespace=None, name="eventTimestamp", arguments=(Attribute(source=None, name=name),)):
                return Code(f"{name}[1]", "long") if name in ENDS else None
            case FunctionCall(namespace=None, name=name) if name in AGGREGATORS:
                arguments = [ExpressionCompiler(self).code_of(one) for one in call.arguments]
                kind = AGGREGATORS[name](call, arguments)
                self.kinds.append(kind)
                given = arguments[0].source if arguments else "None"
                return Code(f"moved({len(self.kinds) - 1}, {given})", kind.type)
            case _:
                return None


def expression_window(given: WindowArguments) -> MakeWindow:
    given.counted(1, 1)
    make = _condition(given)
    return lambda context, emit: ExpressionWindow(context, emit, make())


def expression_batch_window(given: WindowArguments) -> MakeWindow:
    given.counted(1, 3)
    make, includes, streams = _condition(given), given.truth(1), given.truth(2)
    return lambda context, emit: ExpressionBatchWindow(context, emit, make(), includes=includes, streams=streams)


def _condition(given: WindowArguments) -> Callable[[], HeldCondition]:
    """Raises AppTextError where the text is no condition."""
    at, scope = given.call.arguments[0].at, HeldScope(given.scope)
    try:
        node = parse_expression(given.text(0))
        source = ExpressionCompiler(scope, scope.called).condition_of(node)
    except AppTextError as error:
        raise AppTextError(at, f"in this text, {error}") from error
    holds = cast(Holds, function_of(source, "row, at, first, last, moved", given.environment))
    return partial(HeldCondition, holds, tuple(scope.kinds), len(given.scope.columns))
