"""From the text of a window `expression` or `expressionBatch` to its condition."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import cast

from cep.apps.compiler.expression_code import ExpressionCompiler, NestedTooDeepError, function_of
from cep.apps.compiler.window_arguments import MakeWindow, WindowArguments
from cep.apps.language.app_parser import parse_expression
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import Attribute, FunctionCall
from cep.apps.parts.aggregators import AGGREGATORS, AggregatorKind
from cep.apps.parts.expression_windows import Condition, ExpressionBatchWindow, ExpressionWindow, HeldCondition, Holds
from cep.apps.parts.scope import Code, RowScope

ENDS = ("first", "last")
KEPT_TEXTS = 64
"""Conditions of events that are kept compiled."""
LONGEST_TEXT = 1_000


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
        """Return the code of aggregators, and of the times of both ends."""
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
    if streams and isinstance(given.call.arguments[0], Attribute):
        problem = "if events pass on as they come, the condition is one text in quotes"
        raise AppUnsupportedError(given.call.arguments[0].at, problem)
    return lambda context, emit: ExpressionBatchWindow(context, emit, make(), includes=includes, streams=streams)


def _condition(given: WindowArguments) -> Callable[[], HeldCondition]:
    """Return the condition of a text in quotes, or of an attribute with one in each event. Raises AppTextError if it is
    no condition."""
    argument = given.call.arguments[0]
    if isinstance(argument, Attribute):
        if given.attribute(0).type != "string":
            raise AppTextError(argument.at, "the condition is a text")
        made = lru_cache(KEPT_TEXTS)(partial(_of_event, given))
        return partial(HeldCondition, None, (), len(given.scope.columns), given.key(argument), made)
    try:
        holds, kinds = _compiled(given, given.text(0))
    except AppTextError as error:
        raise AppTextError(argument.at, f"in this text, {error}") from error
    return partial(HeldCondition, holds, kinds, len(given.scope.columns))


def _compiled(given: WindowArguments, text: str) -> Condition:
    scope = HeldScope(given.scope)
    source = ExpressionCompiler(scope, scope.called).condition_of(parse_expression(text))
    holds = cast(Holds, function_of(source, "row, at, first, last, moved", given.environment))
    return holds, tuple(scope.kinds)


def _of_event(given: WindowArguments, text: object) -> Condition:
    """Raise ValueError: the event cannot be computed."""
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise ValueError(f"a condition is a text of at most {LONGEST_TEXT} characters")
    try:
        return _compiled(given, text)
    except (AppTextError, NestedTooDeepError) as error:
        raise ValueError(f"the condition {text!r}: {error}") from error
