"""The functions that an app brings: those that it defines, in JavaScript or in the operator's Python, and models."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cep.apps.functions.javascript_functions import JavaScriptFunctions, javascript_terms
from cep.apps.functions.model_scores import model_file, model_function
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.functions.processor_api import ProcessorTerms
from cep.apps.functions.python_functions import PythonFunctions
from cep.apps.language.app_tree import FunctionDefinition, ProcessorDefinition
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import FunctionCall, OwnFunction
from cep.apps.parts.values import Value

JAVASCRIPT = ("javascript", "js")
PYTHON = "python"


@dataclass(slots=True)
class OwnFunctions:
    """The own functions of one app. `runtime`: what its generated Python calls."""

    terms: OperatorTerms
    runtime: dict[str, Callable[..., Value]] = field(default_factory=dict)
    defined: dict[str, OwnFunction] = field(default_factory=dict)
    _models: dict[str, OwnFunction] = field(default_factory=dict)
    _javascript: JavaScriptFunctions | None = None
    _python: PythonFunctions | None = None

    def define(self, definition: FunctionDefinition) -> None:
        """Raise AppTextError, AppUnsupportedError."""
        if definition.name in self.defined:
            raise AppTextError(definition.at, f"there are two functions {definition.name!r}")
        # a number, since no text of an app may stand in generated Python
        language, runtime_name = definition.language.lower(), f"own_{len(self.defined)}"
        if language in JAVASCRIPT:
            self._javascript = self._javascript or JavaScriptFunctions(self.terms.limits)
            called = self._javascript.function(definition)
            own = javascript_terms(definition, runtime_name)
        elif language == PYTHON:
            self._python = self._python or PythonFunctions(self.terms.functions)
            own, called = self._python.function(definition, runtime_name)
        else:
            problem = f"functions in {definition.language} are not supported: there are javascript and python"
            raise AppUnsupportedError(definition.at, problem)
        self.defined[definition.name], self.runtime[runtime_name] = own, called

    def processor(self, definition: ProcessorDefinition) -> tuple[Callable[[], Any], ProcessorTerms]:
        """Return the operator's class, and what it takes. Raises AppTextError."""
        self._python = self._python or PythonFunctions(self.terms.functions)
        return self._python.processor(definition)

    def model(self, call: FunctionCall) -> OwnFunction:
        """Return the model of a call of `model:score`. Raises AppTextError, AppUnsupportedError."""
        file = model_file(call, self.terms.models)
        key = f"{file.path.name}:{file.output}:{len(call.arguments)}"
        if key not in self._models:
            runtime_name = f"model_{len(self._models)}"
            self._models[key], self.runtime[runtime_name] = model_function(call, file, runtime_name)
        return self._models[key]
