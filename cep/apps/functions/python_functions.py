"""Functions of an app in Python, from the operator's folder alone: the app's text names a file and a function in it,
and nothing of the text is ever run as Python."""

import hashlib
import importlib.util
import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path

from cep.apps.language.app_tree import FunctionDefinition
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import OwnFunction, ValueType
from cep.apps.parts.app_limits import AppLimitError, FunctionFailedError
from cep.apps.parts.scope import unknown
from cep.apps.parts.values import Value, as_float

NAMED = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\.([A-Za-z_][A-Za-z0-9_]*)\s*;?\s*", re.ASCII)
ALL: tuple[ValueType, ...] = ("string", "int", "long", "float", "double", "decimal", "bool", "object")
ANNOTATED: Mapping[object, tuple[ValueType, ...]] = {
    str: ("string",),
    bool: ("bool",),
    int: ("int", "long"),
    float: ("float", "double", "int", "long"),
    Decimal: ("decimal",),
}
"""Types of the app that fit an annotation; without one, or with another, all of them."""
RESULTS: Mapping[ValueType, Callable[[Value], Value]] = {"float": as_float, "double": float, "int": int, "long": int}
"""Plain numbers, if a function gives a kind of its own, such as numpy's."""
BOUNDS: Mapping[ValueType, int] = {"int": 2**31, "long": 2**63}
PLAIN = (str, bool, int, float, Decimal, type(None))
"""What a snapshot keeps, alone and in lists, tuples, dicts and sets."""


class PythonFunctions:
    """Those of one app. Each file is run once, when the app is checked."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._modules: dict[str, types.ModuleType] = {}

    def function(self, definition: FunctionDefinition, runtime_name: str) -> tuple[OwnFunction, Callable[..., Value]]:
        """Return what it takes, and what is called. Raises AppTextError."""
        file, name = named_function(definition)
        module = self._modules.get(file) or self._loaded(definition, file)
        called = getattr(module, name, None)
        if not inspect.isfunction(called) or called.__module__ != module.__name__:
            own = [key for key, one in vars(module).items() if inspect.isfunction(one) and not key.startswith("_")]
            raise unknown(definition.at, f"{file}.py of the operator has no function {name!r}", name, own)
        return _terms(definition, runtime_name, called), _checked(definition, called)

    def _loaded(self, definition: FunctionDefinition, file: str) -> types.ModuleType:
        path = function_file(definition, self._folder, file)
        spec = importlib.util.spec_from_file_location(f"app_functions_{file}", path)
        if spec is None or spec.loader is None:
            raise AppTextError(definition.at, f"{path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # code of others may raise anything
            raise AppTextError(definition.at, f"{path} cannot be loaded: {_described(error)}") from error
        self._modules[file] = module
        return module


def named_function(definition: FunctionDefinition) -> tuple[str, str]:
    """Return the file's name without its ending, and the function's. Raises AppTextError."""
    found = NAMED.fullmatch(definition.body)
    if found is None:
        problem = (
            "a function in Python is named as {file.function}, of the operator's folder; no Python stands in an app"
        )
        raise AppTextError(definition.body_at, problem)
    return found[1], found[2]


def function_file(definition: FunctionDefinition, folder: Path | None, file: str) -> Path:
    """Raise AppTextError if there is none."""
    if folder is None:
        problem = "there is no folder of functions in Python: the operator names one as `functions` below [apps]"
        raise AppTextError(definition.at, problem)
    path = folder / f"{file}.py"
    if not path.is_file():
        raise unknown(definition.at, f"{path} is missing", file, sorted(one.stem for one in folder.glob("*.py")))
    return path


def file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _terms(definition: FunctionDefinition, runtime_name: str, called: types.FunctionType) -> OwnFunction:
    accepts: list[tuple[ValueType, ...]] = []
    least, is_repeated = 0, False
    for parameter in _parameters(definition, called):
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty:
                problem = f"{definition.body.strip()}() needs {parameter.name} by name, which no app can give"
                raise AppTextError(definition.at, problem)
            continue
        accepts.append(ANNOTATED.get(parameter.annotation, ALL))
        is_repeated = parameter.kind is parameter.VAR_POSITIONAL
        least += not is_repeated and parameter.default is parameter.empty
    return OwnFunction(definition.name, runtime_name, tuple(accepts), least, is_repeated, definition.returns)


def _parameters(definition: FunctionDefinition, called: types.FunctionType) -> Iterable[inspect.Parameter]:
    """With annotations as what they name, if the file has them as texts. Raises AppTextError."""
    try:
        return inspect.signature(called, eval_str=True).parameters.values()
    except Exception as error:  # an annotation is code of others
        problem = f"the annotations of {definition.body.strip()}() cannot be read: {_described(error)}"
        raise AppTextError(definition.at, problem) from error


def _checked(definition: FunctionDefinition, called: Callable[..., Value]) -> Callable[..., Value]:
    at, returns = definition.at, definition.returns
    named = f"line {at.line}, column {at.column}: the function {definition.name}()"
    result = RESULTS.get(returns)

    def call(*values: Value) -> Value:
        try:
            value = called(*values)
            if _fits(value, returns):
                return value if value is None or result is None else result(value)
        except AppLimitError:
            # of the watch over the row, which interrupts whatever runs
            raise
        except Exception as error:  # code of others may raise anything
            raise FunctionFailedError(f"{named} failed: {_described(error)}") from error
        raise FunctionFailedError(f"{named} gave a value of type {type(value).__name__}, which is no {returns}")

    return call


def _fits(value: Value, returns: ValueType) -> bool:
    if value is None or returns == "object":
        return _is_plain(value)
    if returns in ("string", "bool", "decimal"):
        return type(value) is {"string": str, "bool": bool, "decimal": Decimal}[returns]
    if isinstance(value, bool):
        return False
    if returns in BOUNDS:
        return isinstance(value, int) and -BOUNDS[returns] <= value < BOUNDS[returns]
    return isinstance(value, int | float)


def _is_plain(value: Value) -> bool:
    """Raise RecursionError of a value that contains itself."""
    if type(value) in (list, tuple, set, frozenset):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(map(_is_plain, (*value, *value.values())))
    return type(value) in PLAIN


def _described(error: Exception) -> str:
    """One line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
