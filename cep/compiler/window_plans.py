"""From a window's text to what makes it: names in both spellings, arguments checked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from cep.compiler.expression_code import ExpressionCompiler, function_of
from cep.language.expression_tree import Attribute, Constant, Expression, FunctionCall
from cep.language.language_errors import AppTextError, AppUnsupportedError
from cep.parts.app_context import PartContext
from cep.parts.batch_windows import (
    ChunkBatchWindow,
    LengthBatchWindow,
    StreamedLengthBatchWindow,
    TimeBatchWindow,
)
from cep.parts.chunks import Receiver
from cep.parts.scope import Code, Environment, NoScope, Scope, unknown
from cep.parts.windows import (
    DelayWindow,
    EventWindow,
    ExternalTimeWindow,
    Key,
    LengthWindow,
    SortWindow,
    TimeWindow,
)

MakeWindow = Callable[[PartContext, Receiver], EventWindow]
"""A new window with nothing in it."""


@dataclass(frozen=True, slots=True)
class WindowArguments:
    """The arguments of one window, where it stands."""

    call: FunctionCall
    scope: Scope
    environment: Environment

    def counted(self, least: int, most: int) -> None:
        given = len(self.call.arguments)
        if not least <= given <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise AppTextError(self.call.at, f"the window {self.call.name} takes {wanted} arguments, and has {given}")

    def _constant(self, position: int) -> Code:
        node = self.call.arguments[position]
        what = f"argument {position + 1} of the window {self.call.name}"
        code = ExpressionCompiler(NoScope(what)).code_of(node)
        if not code.is_constant:
            raise AppTextError(node.at, f"{what} must be a constant")
        return code

    def length(self, position: int) -> int:
        code = self._constant(position)
        if code.type != "int" or isinstance(code.constant, bool) or cast(int, code.constant) < 0:
            raise AppTextError(self.call.arguments[position].at, "a number of events is expected here, 0 or more")
        return cast(int, code.constant)

    def time(self, position: int) -> int:
        code = self._constant(position)
        if code.type not in ("int", "long") or cast(int, code.constant) < 0:
            raise AppTextError(self.call.arguments[position].at, "a time is expected here, such as 5 sec")
        return cast(int, code.constant)

    def flag(self, position: int) -> bool | None:
        """None where the argument is missing or is not true or false."""
        if position >= len(self.call.arguments):
            return None
        value = getattr(self.call.arguments[position], "value", None)
        return value if isinstance(value, bool) else None

    def attribute(self, position: int) -> Code:
        node = self.call.arguments[position]
        if not isinstance(node, Attribute):
            raise AppTextError(node.at, "an attribute is expected here")
        return self.scope.code_of(node)

    def key(self, node: Expression) -> Key:
        code = ExpressionCompiler(self.scope).code_of(node)
        return cast(Key, function_of(code.source, "row, at", self.environment))

    def time_attribute(self, position: int) -> Key:
        if self.attribute(position).type != "long":
            raise AppTextError(self.call.arguments[position].at, "the time must be a long, in milliseconds")
        return self.key(self.call.arguments[position])


def _length(given: WindowArguments) -> MakeWindow:
    given.counted(1, 1)
    length = given.length(0)
    return lambda context, emit: LengthWindow(context, emit, length)


def _length_batch(given: WindowArguments) -> MakeWindow:
    given.counted(1, 2)
    length, kind = given.length(0), StreamedLengthBatchWindow if given.flag(1) else LengthBatchWindow
    return lambda context, emit: kind(context, emit, length)


def _time(given: WindowArguments) -> MakeWindow:
    given.counted(1, 1)
    milliseconds = given.time(0)
    return lambda context, emit: TimeWindow(context, emit, milliseconds)


def _time_length(given: WindowArguments) -> MakeWindow:
    given.counted(2, 2)
    milliseconds, length = given.time(0), given.length(1)
    return lambda context, emit: TimeWindow(context, emit, milliseconds, length)


def _time_batch(given: WindowArguments) -> MakeWindow:
    given.counted(1, 3)
    milliseconds, last = given.time(0), len(given.call.arguments) - 1
    if milliseconds == 0:
        raise AppTextError(given.call.arguments[0].at, "a batch must last longer than 0")
    streams = given.flag(last) or False
    start = given.time(1) if last >= 1 and given.flag(1) is None else None
    return lambda context, emit: TimeBatchWindow(context, emit, milliseconds, start, streams=streams)


def _external_time(given: WindowArguments) -> MakeWindow:
    given.counted(2, 2)
    time_of, milliseconds = given.time_attribute(0), given.time(1)
    return lambda context, emit: ExternalTimeWindow(context, emit, time_of, milliseconds)


def _sort(given: WindowArguments) -> MakeWindow:
    given.counted(2, 99)
    length, orders = given.length(0), list[tuple[Key, bool]]()
    for node in given.call.arguments[1:]:
        if isinstance(node, Attribute):
            orders.append((given.key(node), False))
        elif isinstance(node, Constant) and node.value in ("asc", "desc") and orders:
            orders[-1] = (orders[-1][0], node.value == "desc")
        else:
            raise AppTextError(node.at, "an attribute is expected here, or after one 'asc' or 'desc'")
    return lambda context, emit: SortWindow(context, emit, length, orders)


def _delay(given: WindowArguments) -> MakeWindow:
    given.counted(1, 1)
    milliseconds = given.time(0)
    return lambda context, emit: DelayWindow(context, emit, milliseconds)


def _batch(given: WindowArguments) -> MakeWindow:
    if given.call.arguments:
        raise AppUnsupportedError(given.call.at, "the window batch is not supported with a length yet")
    return ChunkBatchWindow


WINDOWS: Mapping[str, Callable[[WindowArguments], MakeWindow]] = {
    "length": _length,
    "lengthBatch": _length_batch,
    "time": _time,
    "timeBatch": _time_batch,
    "timeLength": _time_length,
    "externalTime": _external_time,
    "sort": _sort,
    "delay": _delay,
    "batch": _batch,
}
"""By Siddhi's name."""
STREAM_WORKER_NAMES: Mapping[str, str] = {
    "SLIDING_LENGTH": "length",
    "TUMBLING_LENGTH": "lengthBatch",
    "SLIDING_TIME": "time",
    "TUMBLING_TIME": "timeBatch",
    "SLIDING_TIME_LENGTH": "timeLength",
    "SLIDING_EXTERNAL_TIME": "externalTime",
    "SORT": "sort",
    "DELAY": "delay",
    "TUMBLING": "batch",
}
BATCHES = frozenset({"lengthBatch", "timeBatch", "batch"})
NOT_YET = frozenset(
    {
        *("externalTimeBatch", "TUMBLING_EXTERNAL_TIME", "session", "SESSION", "cron", "CRON", "frequent"),
        *("lossyFrequent", "expression", "SLIDING_EXPRESSION", "expressionBatch", "TUMBLING_EXPRESSION"),
    }
)
"""Windows of the language that this engine does not have yet."""


def is_batch(call: FunctionCall) -> bool:
    """Whether the window fills and is emptied."""
    return STREAM_WORKER_NAMES.get(call.name.upper(), call.name) in BATCHES


def window_plan(call: FunctionCall, scope: Scope, environment: Environment) -> MakeWindow:
    """Raises AppTextError."""
    if call.name in NOT_YET or call.namespace is not None:
        raise AppUnsupportedError(call.at, f"the window {call.name} is not supported yet")
    name = STREAM_WORKER_NAMES.get(call.name.upper(), call.name)
    if name not in WINDOWS:
        raise unknown(call.at, f"there is no window {call.name!r}", call.name, list(WINDOWS))
    return WINDOWS[name](WindowArguments(call, scope, environment))
