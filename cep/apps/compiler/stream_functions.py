"""Stream functions: `#name(…)` after a stream, which change its rows."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from cep.apps.compiler.expression_code import ExpressionCompiler, function_of, row_function
from cep.apps.compiler.log_stage import log_stage
from cep.apps.compiler.stages import MakeStage
from cep.apps.functions.collection_functions import at_path, dumped
from cep.apps.functions.string_functions import pattern_of
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import FunctionCall, ValueType
from cep.apps.parts.app_context import PartContext
from cep.apps.parts.chunks import Chunk, Receiver, Row
from cep.apps.parts.scope import Code, Columns, Environment, RowScope, TypedColumn
from cep.apps.parts.unique_windows import Deduplication
from cep.apps.parts.values import NUMERIC
from cep.apps.parts.windows import Key, Reordering, Slack

Added = Callable[..., Iterable[Row]]
"""Takes values, none of them null; gives the new columns, once for each row that comes of it."""


def stream_function(call: FunctionCall, scope: RowScope, environment: Environment) -> tuple[MakeStage, RowScope]:
    """Return the stage, and the scope with its columns. Raises AppTextError, AppUnsupportedError."""
    if call.full_name not in ("log", *STREAM_FUNCTIONS):
        raise AppUnsupportedError(call.at, f"the stream function #{call.full_name}() is not supported")
    compiler = ExpressionCompiler(scope)
    codes = [compiler.code_of(argument) for argument in call.arguments]
    if call.full_name == "log":
        return log_stage(call, codes, environment), scope
    function = STREAM_FUNCTIONS[call.full_name]
    if isinstance(function, KeepingFunction):
        return function.stage(call, codes, environment), scope
    if function.longer is not None and len(codes) == len(function.longer.takes):
        function = function.longer
    fits = len(codes) == len(function.takes)
    if not fits or any(code.type not in wanted for code, wanted in zip(codes, function.takes, strict=True)):
        raise AppTextError(call.at, f"#{call.full_name}() takes {function.what}")
    given = row_function([code.source for code in codes], "row, at", environment)
    return _adding(given, function.added), RowScope((*scope.columns, *function.columns), scope.names)


def _adding(given: Callable[[Row, int], Row], added: Added) -> MakeStage:
    """Drop a row without one of the values; what comes of a chunk stays together."""

    def make(_: PartContext, emit: Receiver) -> Receiver:
        def receive(chunk: Chunk) -> None:
            out: Chunk = []
            for kind, at, row in chunk:
                values = given(row, at)
                if None not in values:
                    out += [(kind, at, (*row, *columns)) for columns in added(*values)]
            if out:
                emit(out)

        return receive

    return make


@dataclass(frozen=True, slots=True)
class AddingFunction:
    """`takes`: the types of the arguments; `what`: in words; `longer`: with more of them."""

    takes: tuple[tuple[ValueType, ...], ...]
    what: str
    columns: Columns
    added: Added
    longer: "AddingFunction | None" = None


@dataclass(frozen=True, slots=True)
class KeepingFunction:
    """One that keeps rows, or something of them, and adds no columns. `what`: its arguments in words."""

    what: str
    stage: Callable[[FunctionCall, Sequence[Code], Environment], MakeStage]


def _deduplicated(call: FunctionCall, codes: Sequence[Code], environment: Environment) -> MakeStage:
    """Raise AppTextError."""
    if len(codes) != 2 or codes[0].type == "object":
        raise AppTextError(call.at, f"#{call.full_name}() takes {A_KEY}")
    key = cast(Key, function_of(codes[0].source, "row, at", environment))
    milliseconds = _time(call, codes, 1)
    return lambda context, emit: Deduplication(context, emit, key, milliseconds).receive


def _reordered(call: FunctionCall, codes: Sequence[Code], environment: Environment) -> MakeStage:
    """Raise AppTextError."""
    if not 1 <= len(codes) <= 4 or codes[0].type != "long":
        raise AppTextError(call.at, f"#{call.full_name}() takes {A_TIME}")
    drops_late = codes[3].constant if len(codes) > 3 else False
    if not isinstance(drops_late, bool):
        raise AppTextError(call.arguments[3].at, "true or false is expected here: whether late rows are left out")
    # Siddhi's way to say that only the arguments after it are wanted
    is_endless = len(codes) > 1 and codes[1].constant == -1
    longest = None if len(codes) < 2 or is_endless else _time(call, codes, 1)
    slack = Slack(longest, _time(call, codes, 2) if len(codes) > 2 else None, drops_late)
    time_of = cast(Key, function_of(codes[0].source, "row, at", environment))
    return lambda context, emit: Reordering(context, emit, time_of, slack).receive


def _time(call: FunctionCall, codes: Sequence[Code], place: int) -> int:
    """Raise AppTextError."""
    milliseconds = codes[place].constant
    if codes[place].type not in ("int", "long") or not isinstance(milliseconds, int) or milliseconds <= 0:
        raise AppTextError(call.arguments[place].at, "a time above 0 is expected here, such as 5 sec")
    return milliseconds


A_KEY = "a key, which is no object, and for how long no other row of it passes"
A_TIME = "a long with the row's time, and if wanted how long a row may wait, the most slack, and whether late rows go"


def _cartesian(theta: float, rho: float, *height: float) -> list[Row]:
    """Return the Cartesian coordinates of an angle in degrees and a radius; a height stays as it is."""
    angle = math.radians(theta)
    return [(rho * math.cos(angle), rho * math.sin(angle), *map(float, height))]


def _json_parts(value: Any, path: str) -> list[Row]:
    """Return what is at the path, each as text; the members of an array one by one."""
    found = at_path(value, path)
    parts = found if isinstance(found, list) else [] if found is None else [found]
    return [(part if isinstance(part, str) else dumped(part),) for part in parts]


def _text_parts(text: str, pattern: str) -> list[Row]:
    return [(part,) for part in pattern_of(pattern).split(text) if part]


APART = "a text, and where to take it apart"
POLAR = "two numbers, an angle in degrees and a radius, and a height if there is one"
CARTESIAN: Columns = (TypedColumn("x", "double"), TypedColumn("y", "double"))
STREAM_FUNCTIONS: Mapping[str, AddingFunction | KeepingFunction] = {
    "pol2Cart": AddingFunction(
        (NUMERIC, NUMERIC),
        POLAR,
        CARTESIAN,
        _cartesian,
        AddingFunction((NUMERIC, NUMERIC, NUMERIC), POLAR, (*CARTESIAN, TypedColumn("z", "double")), _cartesian),
    ),
    "json:tokenize": AddingFunction(
        (("string", "object"), ("string",)), APART, (TypedColumn("jsonElement", "string"),), _json_parts
    ),
    "str:tokenize": AddingFunction((("string",), ("string",)), APART, (TypedColumn("token", "string"),), _text_parts),
    "unique:deduplicate": KeepingFunction(A_KEY, _deduplicated),
    "reorder:kslack": KeepingFunction(A_TIME, _reordered),
}
