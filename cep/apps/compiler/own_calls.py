"""Calls of an app's own functions: found in all of its text before anything else is compiled, and their Python."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from cep.apps.compiler.value_functions import FUNCTIONS
from cep.apps.functions.model_scores import model_file
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.functions.own_functions import PYTHON, OwnFunctions
from cep.apps.functions.python_functions import file_digest, named_function, operator_file
from cep.apps.language.app_tree import App, FunctionDefinition
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import FunctionCall, OwnFunction, Place
from cep.apps.language.stream_names import nodes_of
from cep.apps.parts.aggregators import AGGREGATORS
from cep.apps.parts.scope import Code

MODEL = "model:score"
Tree = TypeVar("Tree")


def define_functions(app: App, own: OwnFunctions) -> None:
    """Raise AppTextError, AppUnsupportedError."""
    for definition in app.definitions:
        if isinstance(definition, FunctionDefinition):
            if definition.name in FUNCTIONS or definition.name in AGGREGATORS:
                raise AppTextError(definition.at, f"there is a function {definition.name}() already: choose a name")
            own.define(definition)


def bound(tree: Tree, own: OwnFunctions) -> Tree:
    """Return the tree, whose calls of the app's own functions say so. Raises AppTextError, AppUnsupportedError."""
    if not any(_is_own(call, own) for call in calls_of(tree)):
        return tree
    try:
        found: Tree = _bound(tree, own)
    except RecursionError:
        raise AppTextError(Place(1, 1), "an expression of this app is nested too deep") from None
    return found


def calls_of(tree: object) -> Iterator[FunctionCall]:
    return (node for node in nodes_of(tree, with_writes=True) if isinstance(node, FunctionCall))


def operator_files(app: App, terms: OperatorTerms) -> tuple[tuple[str, str], ...]:
    """Files of the operator's folders that the app uses, each with a digest of its content. Raises AppTextError if
    one is missing, OSError if one cannot be read."""
    paths = {
        operator_file(one.at, terms.functions, named_function(one)[0])
        for one in app.definitions
        if isinstance(one, FunctionDefinition) and one.language.lower() == PYTHON
    }
    paths |= {operator_file(one.at, terms.functions, one.name.partition(".")[0]) for one in app.processors}
    paths |= {model_file(call, terms.models).path for call in calls_of(app) if call.full_name == MODEL}
    return tuple((path.name, file_digest(path)) for path in sorted(paths))


def own_code(call: FunctionCall, own: OwnFunction, arguments: Sequence[Code]) -> Code:
    """Raise AppTextError if the arguments do not fit."""
    nodes = call.arguments
    if call.full_name == MODEL:
        # the model's name is known, and no value
        nodes, arguments = nodes[1:], arguments[1:]
    most = None if own.is_repeated else len(own.accepts)
    if len(arguments) < own.least or (most is not None and len(arguments) > most):
        wanted = (
            f"{own.least} or more"
            if most is None
            else f"{own.least}"
            if own.least == most
            else f"{own.least} to {most}"
        )
        raise AppTextError(call.at, f"{own.name}() takes {wanted} values, and has {len(arguments)}")
    for place, (node, argument) in enumerate(zip(nodes, arguments, strict=True)):
        accepted = own.accepts[min(place, len(own.accepts) - 1)]
        if argument.type not in accepted:
            problem = f"{own.name}() takes {' or '.join(accepted)} here, and this is {argument.type}"
            raise AppTextError(node.at, problem)
    return Code(f"{own.runtime_name}({', '.join(one.source for one in arguments)})", own.returns)


def _is_own(call: FunctionCall, own: OwnFunctions) -> bool:
    return call.full_name in own.defined or call.full_name == MODEL


def _bound(node: Any, own: OwnFunctions) -> Any:
    if isinstance(node, tuple):
        return tuple(_bound(one, own) for one in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    after = {one.name: _bound(getattr(node, one.name), own) for one in fields(node)}
    if isinstance(node, FunctionCall) and _is_own(node, own):
        after["own"] = own.model(node) if node.full_name == MODEL else own.defined[node.full_name]
    return replace(node, **after)
