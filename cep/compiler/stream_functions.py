"""Stream functions: `#name(…)` after a stream, which change its rows."""

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

from cep.compiler.expression_code import ExpressionCompiler, function_of
from cep.compiler.stages import MakeStage
from cep.functions.collection_functions import at_path, dumped
from cep.functions.string_functions import pattern_of
from cep.language.expression_tree import FunctionCall
from cep.language.language_errors import AppTextError, AppUnsupportedError
from cep.parts.app_context import PartContext
from cep.parts.chunks import Chunk, Event, Receiver, Row
from cep.parts.scope import Environment, RowScope, TypedColumn
from cep.parts.values import NUMERIC


def stream_function(call: FunctionCall, scope: RowScope, environment: Environment) -> tuple[MakeStage, RowScope]:
    """The stage, and the scope with its columns. Raises AppTextError, AppUnsupportedError."""
    if call.namespace is None and call.name == "pol2Cart":
        return _polar_to_cartesian(call, scope, environment)
    name = f"{call.namespace}:{call.name}"
    if name in SPREADS:
        return _spread(call, scope, environment)
    raise AppUnsupportedError(call.at, f"the stream function #{call.name}() is not supported")


def _json_parts(value: Any, path: str) -> list[str]:
    """What is at the path, each as text; the members of an array one by one."""
    found = at_path(value, path)
    parts = found if isinstance(found, list) else [] if found is None else [found]
    return [part if isinstance(part, str) else dumped(part) for part in parts]


def _text_parts(text: str, pattern: str) -> list[str]:
    return [part for part in pattern_of(pattern).split(text) if part]


SPREADS: Mapping[str, tuple[str, Callable[[Any, str], list[str]]]] = {
    "json:tokenize": ("jsonElement", _json_parts),
    "str:tokenize": ("token", _text_parts),
}
"""The column that each adds, and its values: a row for each."""


def _spread(call: FunctionCall, scope: RowScope, environment: Environment) -> tuple[MakeStage, RowScope]:
    """`#json:tokenize(text, '$.legs')`, `#str:tokenize(text, ',')`: a row for every part, all in one chunk."""
    column, parts_of = SPREADS[f"{call.namespace}:{call.name}"]
    compiler = ExpressionCompiler(scope)
    codes = [compiler.code_of(argument) for argument in call.arguments]
    if len(codes) != 2 or codes[1].type != "string" or codes[0].type not in ("string", "object"):
        raise AppTextError(call.at, f"#{call.namespace}:{call.name}() takes a text, and where to take it apart")
    given = cast(
        Callable[[Row, int], Row], function_of(f"({codes[0].source}, {codes[1].source})", "row, at", environment)
    )

    def make(_: PartContext, emit: Receiver) -> Receiver:
        def receive(chunk: Chunk) -> None:
            out = list[Event]()
            for kind, at, row in chunk:
                value, where = given(row, at)
                if value is not None and where is not None:
                    out += [(kind, at, (*row, part)) for part in parts_of(value, where)]
            if out:
                emit(out)

        return receive

    return make, RowScope((*scope.columns, TypedColumn(column, "string")), scope.names)


def _polar_to_cartesian(call: FunctionCall, scope: RowScope, environment: Environment) -> tuple[MakeStage, RowScope]:
    """`#pol2Cart(theta, rho)`: columns x and y of an angle in degrees. A row without one of both is dropped."""
    compiler = ExpressionCompiler(scope)
    codes = [compiler.code_of(argument) for argument in call.arguments]
    if len(codes) != 2 or any(code.type not in NUMERIC for code in codes):
        raise AppTextError(call.at, "#pol2Cart() takes two numbers: an angle in degrees and a radius")
    source = f"({codes[0].source}, {codes[1].source})"
    polar = cast(Callable[[Row, int], Row], function_of(source, "row, at", environment))

    def make(_: PartContext, emit: Receiver) -> Receiver:
        def receive(chunk: Chunk) -> None:
            out = list[Event]()
            for kind, at, row in chunk:
                theta, rho = polar(row, at)
                if theta is not None and rho is not None:
                    angle = math.radians(theta)
                    out.append((kind, at, (*row, rho * math.cos(angle), rho * math.sin(angle))))
            if out:
                emit(out)

        return receive

    wider = (*scope.columns, TypedColumn("x", "double"), TypedColumn("y", "double"))
    return make, RowScope(wider, scope.names)
