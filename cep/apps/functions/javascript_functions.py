"""Functions of an app in JavaScript. They see their arguments and nothing else: no input, no output, no time and no
chance; what they share is frozen (`lockdown.js`), so that a call leaves nothing behind that a snapshot would have to
keep.
"""

import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

# the engine alone: its wrapper starts a thread when it is imported
import _quickjs
import orjson

from cep.apps.language.app_tree import FunctionDefinition
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import OwnFunction, Place, ValueType
from cep.apps.parts.app_limits import AppLimitError, AppLimits, FunctionFailedError
from cep.apps.parts.values import Value, as_float

STACK_BYTES = 256 * 1024
"""The stack of calls within calls, bytes; a thread has megabytes."""
ACCEPTED: tuple[ValueType, ...] = ("string", "int", "long", "float", "double", "bool", "object")
WANTED: Mapping[ValueType, str] = {
    "string": "string",
    "bool": "boolean",
    "int": "number",
    "long": "number",
    "float": "number",
    "double": "number",
    "object": "object",
}
"""What JavaScript calls it."""
WHOLE: Mapping[ValueType, int] = {"int": 2**31, "long": 2**53}
"""Bounds of whole numbers; JavaScript's are doubles, which have all of them up to 2^53."""
SMALL = 2**31
"""The engine's binding cuts off larger whole numbers, so they are given as doubles."""
IN_SCRIPT = re.compile(r"<input>:(\d+):(\d+)")
PREFIX = "(function (data) {'use strict';"
LINES_BEFORE = 10_000
"""Empty lines before a function, so that a line says whose it is: `lockdown.js`, and what a function hands to `eval` or
`JSON.parse`, begin at line 1."""


class JavaScriptFunctions:
    """Those of one app, in one engine. To be used by the thread that made it."""

    def __init__(self, limits: AppLimits) -> None:
        self._limits = limits
        self._context = _quickjs.Context()
        self._context.set_memory_limit(limits.script_bytes)
        self._context.set_max_stack_size(STACK_BYTES)
        self._guarded = self._context.eval(
            files("cep.apps.functions").joinpath("lockdown.js").read_text(encoding="utf-8")
        )
        self._context.set_time_limit(limits.script_seconds)

    def function(self, definition: FunctionDefinition) -> Callable[..., Value]:
        """Raise AppTextError if it is no function."""
        if definition.returns == "decimal":
            problem = "JavaScript's numbers are doubles: let the function give a string, and convert that"
            raise AppUnsupportedError(definition.at, problem)
        source = "\n" * LINES_BEFORE + f"{PREFIX}{definition.body}\n}})"
        try:
            guarded = self._guarded(source, WANTED[definition.returns])
        except _quickjs.JSException as error:
            raise _mistake(definition, str(error)) from None
        return self._called(definition, guarded)

    def _called(self, definition: FunctionDefinition, guarded: Callable[..., Any]) -> Callable[..., Value]:
        result = RESULTS.get(definition.returns)

        def call(*values: Value) -> Value:
            try:
                json, given = _given(values)
                value = guarded(json, *given)
                return value if value is None or result is None else result(value)
            except _quickjs.JSException as error:
                raise self._failure(definition, str(error)) from None
            except ValueError as error:
                raise FunctionFailedError(f"{_named(definition)} {error}") from None

        return call

    def _failure(self, definition: FunctionDefinition, text: str) -> Exception:
        """Texts that begin with T and W are those of `lockdown.js`: thrown, and of another type than wanted."""
        name, first = _named(definition), text.splitlines()[0]
        if text.startswith("InternalError: interrupted"):
            limit = f"{self._limits.script_seconds:g} s of CPU in one call"
            return AppLimitError(f"{name} took more than {limit}: does it end?")
        if first in ("TInternalError: out of memory", "InternalError: out of memory"):
            return AppLimitError(f"{name} took more than {self._limits.script_bytes:,} bytes of memory")
        if text.startswith("W"):
            return FunctionFailedError(f"{name} gave {first[1:]}, which is no {definition.returns}")
        where = _place(definition, text)
        at = "" if where is None else f" at line {where.line}, column {where.column}"
        return FunctionFailedError(f"{name} failed{at}: {first[1:]}")


def javascript_terms(definition: FunctionDefinition, runtime_name: str) -> OwnFunction:
    """Any number of arguments, which it finds in `data`."""
    return OwnFunction(definition.name, runtime_name, (ACCEPTED,), 0, True, definition.returns)


def _mistake(definition: FunctionDefinition, text: str) -> AppTextError:
    if text.startswith("B"):
        return AppTextError(definition.body_at, "the function's body ends before its last brace")
    problem = f"this is no JavaScript: {text.splitlines()[0].removeprefix('T')}"
    return AppTextError(_place(definition, text) or definition.at, problem)


def _named(definition: FunctionDefinition) -> str:
    return f"line {definition.at.line}, column {definition.at.column}: the function {definition.name}()"


def _place(definition: FunctionDefinition, text: str) -> Place | None:
    """In the app's text, of the innermost call that is the function's own; None if the engine names none."""
    places = ((int(line) - LINES_BEFORE, int(column)) for line, column in IN_SCRIPT.findall(text))
    found = next(((line, column) for line, column in places if line > 0), None)
    if found is None:
        return None
    line, column = found
    body = definition.body_at
    return Place(body.line + line - 1, column if line > 1 else body.column + max(column - len(PREFIX) - 1, 0))


def _given(values: tuple[Value, ...]) -> tuple[str | None, tuple[Value, ...]]:
    """As the engine takes them: all as JSON if one is an object. Raises ValueError."""
    given: list[Value] = []
    for value in values:
        if isinstance(value, str):
            given.append(_text(value))
        elif isinstance(value, bool | float) or value is None:
            given.append(value)
        elif isinstance(value, int):
            given.append(_whole(value))
        else:
            return _json(values), ()
    return None, tuple(given)


def _text(value: str) -> str:
    if "\0" in value or (not value.isascii() and value.encode(errors="replace").decode() != value):
        raise ValueError("takes no text with a character that is none (zero, or half of a pair)")
    return value


def _whole(value: int) -> int | float:
    if -SMALL <= value < SMALL:
        return value
    if abs(value) > WHOLE["long"]:
        raise ValueError(f"cannot be given {value}: JavaScript's numbers are exact to 2^53; give it as a string")
    return float(value)


def _json(values: tuple[Value, ...]) -> str:
    try:
        return orjson.dumps(values, default=_plain, option=orjson.OPT_STRICT_INTEGER).decode()
    except TypeError as error:
        raise ValueError(f"cannot be given such a value: {error}") from None


def _plain(value: object) -> object:
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _whole_result(type_: ValueType) -> Callable[[Any], int]:
    bound = WHOLE[type_]

    def result(value: float) -> int:
        if not -bound <= value < bound or value != int(value):
            raise ValueError(f"gave {value:.15g}, which is no {type_}")
        return int(value)

    return result


RESULTS: Mapping[ValueType, Callable[[Any], Value]] = {
    "int": _whole_result("int"),
    "long": _whole_result("long"),
    "float": as_float,
    "double": float,
    "object": orjson.loads,
}
