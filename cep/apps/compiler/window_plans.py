"""From a window's text to what makes it: names in both spellings, arguments checked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from cep.apps.compiler.expression_window_plans import expression_batch_window, expression_window
from cep.apps.compiler.unique_window_plans import UNIQUE_WINDOWS
from cep.apps.compiler.window_arguments import MakeWindow, WindowArguments
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Attribute, Constant, FunctionCall, Place
from cep.apps.parts.app_context import PartContext
from cep.apps.parts.batch_windows import (
    ChunkBatchWindow,
    CronWindow,
    EmptyBatchWindow,
    HoppingWindow,
    LengthBatchWindow,
    StreamedLengthBatchWindow,
    TimeBatchWindow,
)
from cep.apps.parts.calendar import CronTimes
from cep.apps.parts.chunks import Receiver
from cep.apps.parts.external_batches import ExternalTimeBatchWindow
from cep.apps.parts.frequent_windows import FrequentWindow, LossyFrequentWindow
from cep.apps.parts.scope import Environment, RowScope, unknown
from cep.apps.parts.session_window import SessionWindow
from cep.apps.parts.windows import (
    DelayWindow,
    EventWindow,
    ExternalTimeWindow,
    Key,
    LengthWindow,
    LengthWindowOfEvents,
    SortWindow,
    TimeWindow,
)


def check_cron(text: str, at: Place) -> None:
    """Raise AppTextError if the text is no cron expression."""
    try:
        CronTimes(text)
    except ValueError as error:
        raise AppTextError(at, f"{text!r} is no cron expression: {error}") from error


@dataclass(frozen=True, slots=True)
class LengthPlan:
    """`is_asked`: whether others than its own query ask for what it keeps, with the times of that."""

    length: int
    is_asked: bool = True

    def __call__(self, context: PartContext, emit: Receiver) -> EventWindow:
        if self.is_asked:
            return LengthWindowOfEvents(context, emit, self.length)
        return LengthWindow(context, emit, self.length)


@dataclass(frozen=True, slots=True)
class TimePlan:
    milliseconds: int

    def __call__(self, context: PartContext, emit: Receiver) -> TimeWindow:
        return TimeWindow(context, emit, self.milliseconds)


def _length(given: WindowArguments) -> MakeWindow:
    given.counted(1, 1)
    return LengthPlan(given.length(0))


def _length_batch(given: WindowArguments) -> MakeWindow:
    given.counted(1, 2)
    length, kind = given.length(0), StreamedLengthBatchWindow if given.truth(1) else LengthBatchWindow
    if length == 0:
        return EmptyBatchWindow
    return lambda context, emit: kind(context, emit, length)


def _time(given: WindowArguments) -> MakeWindow:
    given.counted(1, 1)
    return TimePlan(given.time(0))


def _time_length(given: WindowArguments) -> MakeWindow:
    given.counted(2, 2)
    milliseconds, length = given.time(0), given.length(1)
    return lambda context, emit: TimeWindow(context, emit, milliseconds, length)


def _time_batch(given: WindowArguments) -> MakeWindow:
    given.counted(1, 3)
    milliseconds, last = given.time(0), len(given.call.arguments) - 1
    if milliseconds == 0:
        raise AppTextError(given.call.arguments[0].at, "a batch must last longer than 0")
    streams = given.truth(2) if last == 2 else given.flag(1) or False
    start = given.time(1) if last == 2 or (last == 1 and given.flag(1) is None) else None
    return lambda context, emit: TimeBatchWindow(context, emit, milliseconds, start, streams=streams)


def _hopping(given: WindowArguments) -> MakeWindow:
    given.counted(2, 3)
    size, hop = given.time(0), given.time(1)
    for position, milliseconds in enumerate((size, hop)):
        if milliseconds == 0:
            raise AppTextError(given.call.arguments[position].at, "a hopping window and its hop last longer than 0")
    start = given.time(2) if len(given.call.arguments) > 2 else 0
    return lambda context, emit: HoppingWindow(context, emit, size, hop, start)


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
    given.counted(0, 1)
    length = given.length(0) if given.call.arguments else 0
    return lambda context, emit: ChunkBatchWindow(context, emit, length)


def _cron(given: WindowArguments) -> MakeWindow:
    given.counted(1, 1)
    text = given.text(0)
    check_cron(text, given.call.arguments[0].at)
    return lambda context, emit: CronWindow(context, emit, CronTimes(text))


def _external_time_batch(given: WindowArguments, key: Key | None = None) -> MakeWindow:
    given.counted(2, 5 if key is None else 3)
    time_of, milliseconds, count = given.time_attribute(0), given.time(1), len(given.call.arguments)
    if milliseconds == 0:
        raise AppTextError(given.call.arguments[1].at, "a batch must last longer than 0")
    start: int | Key | None = None
    if count > 2:
        has_attribute = isinstance(given.call.arguments[2], Attribute)
        start = given.time_attribute(2) if has_attribute else given.time(2)
    timeout = given.time(3) if count > 3 else 0
    replaces = given.position(0) if given.truth(4) else None
    return lambda context, emit: ExternalTimeBatchWindow(
        context, emit, time_of, milliseconds, start=start, timeout=timeout, replaces=replaces, key=key
    )


def _unique_external_time_batch(given: WindowArguments) -> MakeWindow:
    """After the key as `externalTimeBatch`."""
    given.counted(3, 4)
    rest = replace(given.call, arguments=given.call.arguments[1:])
    return _external_time_batch(replace(given, call=rest), given.key(given.call.arguments[0]))


def _session(given: WindowArguments) -> MakeWindow:
    given.counted(1, 3)
    gap, arguments = given.time(0), given.call.arguments
    has_key = len(arguments) > 1 and isinstance(arguments[1], Attribute)
    if has_key and given.attribute(1).type != "string":
        raise AppTextError(arguments[1].at, "the key of a session must be a string")
    key = given.key(arguments[1]) if has_key else None
    last = len(arguments) - 1
    latency = given.time(last) if last > has_key else 0
    if latency > gap:
        raise AppTextError(arguments[last].at, "the latency of a session must not be longer than its gap")
    return lambda context, emit: SessionWindow(context, emit, gap, key, latency)


def _frequent(given: WindowArguments) -> MakeWindow:
    given.counted(1, 99)
    most, key = given.length(0), given.keys(given.call.arguments[1:])
    return lambda context, emit: FrequentWindow(context, emit, most, key)


def _lossy_frequent(given: WindowArguments) -> MakeWindow:
    given.counted(1, 99)
    support, arguments = given.number(0), given.call.arguments
    has_error = len(arguments) > 1 and not isinstance(arguments[1], Attribute)
    error = given.number(1) if has_error else support / 10
    key = given.keys(arguments[2 if has_error else 1 :])
    return lambda context, emit: LossyFrequentWindow(context, emit, support, error, key)


WINDOWS: Mapping[str, Callable[[WindowArguments], MakeWindow]] = {
    "length": _length,
    "lengthBatch": _length_batch,
    "time": _time,
    "timeBatch": _time_batch,
    "timeLength": _time_length,
    "hopping": _hopping,
    "externalTime": _external_time,
    "sort": _sort,
    "delay": _delay,
    "batch": _batch,
    "cron": _cron,
    "externalTimeBatch": _external_time_batch,
    "session": _session,
    "expression": expression_window,
    "expressionBatch": expression_batch_window,
    "frequent": _frequent,
    "lossyFrequent": _lossy_frequent,
    **UNIQUE_WINDOWS,
    "unique:externalTimeBatch": _unique_external_time_batch,
}
"""By Siddhi's name."""
STREAM_WORKER_NAMES: Mapping[str, str] = {
    "SLIDING_LENGTH": "length",
    "TUMBLING_LENGTH": "lengthBatch",
    "SLIDING_TIME": "time",
    "TUMBLING_TIME": "timeBatch",
    "SLIDING_TIME_LENGTH": "timeLength",
    "HOPPING": "hopping",
    "SLIDING_EXTERNAL_TIME": "externalTime",
    "SORT": "sort",
    "DELAY": "delay",
    "TUMBLING": "batch",
    "CRON": "cron",
    "TUMBLING_EXTERNAL_TIME": "externalTimeBatch",
    "SESSION": "session",
    "SLIDING_EXPRESSION": "expression",
    "TUMBLING_EXPRESSION": "expressionBatch",
    **{name.upper(): name for name in WINDOWS if ":" in name},
}


HOPPING = "HOPPING(size, hop), or #window.hopping(size, hop): how long a window is comes first"


def window_plan(call: FunctionCall, scope: RowScope, environment: Environment) -> MakeWindow:
    """Raise AppTextError."""
    name = STREAM_WORKER_NAMES.get(call.full_name.upper(), call.full_name)
    if name.lower() == "hop":
        raise AppTextError(call.at, f"there is no window {call.full_name!r}: write {HOPPING}")
    if name not in WINDOWS:
        raise unknown(call.at, f"there is no window {call.full_name!r}", call.full_name, list(WINDOWS))
    return WINDOWS[name](WindowArguments(call, scope, environment))
