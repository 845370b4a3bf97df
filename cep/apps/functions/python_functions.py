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
from typing import Any, TypeVar

from cep.apps.functions.plain_values import RESULTS, fits
from cep.apps.functions.processor_api import MARK, ProcessorTerms
from cep.apps.language.app_tree import FunctionDefinition, ProcessorDefinition
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import OwnFunction, Place, ValueType
from cep.apps.parts.app_limits import AppLimitError, FunctionFailedError
from cep.apps.parts.scope import unknown
from cep.apps.parts.values import Value

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


Given = TypeVar("Given")


class PythonFunctions:
    """Those of one app. Each file is run once, when the app is checked."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._modules: dict[str, types.ModuleType] = {}

    def function(self, definition: FunctionDefinition, runtime_name: str) -> tuple[OwnFunction, Callable[..., Value]]:
        """Return what it takes, and what is called. Raises AppTextError."""
        file, name = named_function(definition)
        module = self._module(definition.at, file)
        called = getattr(module, name, None)
        if not inspect.isfunction(called) or called.__module__ != module.__name__:
            own = [key for key, one in vars(module).items() if inspect.isfunction(one) and not key.startswith("_")]
            raise unknown(definition.at, f"{file}.py of the operator has no function {name!r}", name, own)
        return _terms(definition, runtime_name, called), _checked(definition, called)

    def processor(self, definition: ProcessorDefinition) -> tuple[Callable[[], Any], ProcessorTerms]:
        """Return the class, and what it takes. Raises AppTextError."""
        file, _, name = definition.name.partition(".")
        module = self._module(definition.at, file)
        made = getattr(module, name, None)
        terms = getattr(made, MARK, None)
        if made is None or not isinstance(terms, ProcessorTerms):
            own = [key for key, one in vars(module).items() if hasattr(one, MARK)]
            raise unknown(definition.at, f"{file}.py of the operator has no processor {name!r}", name, own)
        return made, terms

    def _module(self, at: Place, file: str) -> types.ModuleType:
        path = operator_file(at, self._folder, file)
        if file in self._modules:
            return self._modules[file]
        spec = importlib.util.spec_from_file_location(f"app_functions_{file}", path)
        if spec is None or spec.loader is None:
            raise AppTextError(at, f"{path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # code of others may raise anything
            raise AppTextError(at, f"{path} cannot be loaded: {_described(error)}") from error
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


def operator_file(at: Place, folder: Path | None, file: str) -> Path:
    """Raise AppTextError if there is none."""
    if folder is None:
        problem = "there is no folder of functions in Python: the operator names one as `functions` below [apps]"
        raise AppTextError(at, problem)
    path = folder / f"{file}.py"
    if not path.is_file():
        raise unknown(at, f"{path} is missing", file, sorted(one.stem for one in folder.glob("*.py")))
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
            if fits(value, returns):
                return value if value is None or result is None else result(value)
        except AppLimitError:
            # of the watch over the row, which interrupts whatever runs
            raise
        except Exception as error:  # code of others may raise anything
            raise FunctionFailedError(f"{named} failed: {_described(error)}") from error
        raise FunctionFailedError(f"{named} gave a value of type {type(value).__name__}, which is no {returns}")

    return call


def run_of_others(call: Callable[[Given], None], given: Given) -> None:
    """Call code of the operator's with one value. Raises FunctionFailedError, in one sentence; AppLimitError."""
    try:
        call(given)
    except AppLimitError:
        # of the watch over the row, which interrupts whatever runs
        raise
    except Exception as error:  # code of others may raise anything
        raise FunctionFailedError(_described(error)) from error


def _described(error: Exception) -> str:
    """One line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
