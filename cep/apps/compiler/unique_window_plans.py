"""From the text of the windows `unique:…` to what makes them: a key comes first in each."""

from collections.abc import Callable, Mapping

from cep.apps.compiler.window_arguments import MakeWindow, WindowArguments
from cep.apps.language.errors import AppTextError
from cep.apps.parts.unique_windows import UniqueBatchWindow, UniqueFirstWindow, UniqueWindow
from cep.apps.parts.windows import Key


def _key(given: WindowArguments, least: int, most: int) -> Key:
    """Return the first argument. Raises AppTextError if there are not so many."""
    given.counted(least, most)
    return given.key(given.call.arguments[0])


def _length(given: WindowArguments, position: int) -> int:
    length = given.length(position)
    if length == 0:
        raise AppTextError(given.call.arguments[position].at, "a number of keys is expected here, 1 or more")
    return length


def _time(given: WindowArguments, position: int) -> int:
    milliseconds = given.time(position)
    if milliseconds == 0:
        raise AppTextError(given.call.arguments[position].at, "a time above 0 is expected here")
    return milliseconds


def _ever(given: WindowArguments) -> MakeWindow:
    key = _key(given, 1, 1)
    return lambda context, emit: UniqueWindow(context, emit, key)


def _first(given: WindowArguments) -> MakeWindow:
    key = _key(given, 1, 1)
    return lambda context, emit: UniqueFirstWindow(context, emit, key)


def _sliding_length(given: WindowArguments) -> MakeWindow:
    key, length = _key(given, 2, 2), _length(given, 1)
    return lambda context, emit: UniqueWindow(context, emit, key, length=length)


def _sliding_time(given: WindowArguments) -> MakeWindow:
    key, milliseconds = _key(given, 2, 2), _time(given, 1)
    return lambda context, emit: UniqueWindow(context, emit, key, milliseconds=milliseconds)


def _by_length(*, keeps_first: bool) -> Callable[[WindowArguments], MakeWindow]:
    def plan(given: WindowArguments) -> MakeWindow:
        key, length = _key(given, 2, 2), _length(given, 1)
        return lambda context, emit: UniqueBatchWindow(context, emit, key, length=length, keeps_first=keeps_first)

    return plan


def _by_time(*, keeps_first: bool) -> Callable[[WindowArguments], MakeWindow]:
    def plan(given: WindowArguments) -> MakeWindow:
        key, milliseconds = _key(given, 2, 3), _time(given, 1)
        start = given.time(2) if len(given.call.arguments) > 2 else None
        return lambda context, emit: UniqueBatchWindow(
            context, emit, key, milliseconds=milliseconds, start=start, keeps_first=keeps_first
        )

    return plan


def _by_time_or_length(given: WindowArguments) -> MakeWindow:
    key, milliseconds, length = _key(given, 3, 3), _time(given, 1), _length(given, 2)
    return lambda context, emit: UniqueBatchWindow(context, emit, key, length=length, milliseconds=milliseconds)


UNIQUE_WINDOWS: Mapping[str, Callable[[WindowArguments], MakeWindow]] = {
    "unique:ever": _ever,
    "unique:first": _first,
    "unique:length": _sliding_length,
    "unique:time": _sliding_time,
    "unique:lengthBatch": _by_length(keeps_first=False),
    "unique:firstLengthBatch": _by_length(keeps_first=True),
    "unique:timeBatch": _by_time(keeps_first=False),
    "unique:firstTimeBatch": _by_time(keeps_first=True),
    "unique:timeLengthBatch": _by_time_or_length,
}
