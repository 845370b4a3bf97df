"""`@App:endpoint(path = '/price/{symbol}', query = '…')`: questions that an app answers at an address of its own.

A part of the path in braces is a parameter of the query, with its type behind a colon if it is no string:
`/above/{bps:double}`. Its value is put into the query's tree.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_on_demand
from cep.apps.language.app_tree import Annotation, App, Return
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Constant, Place, ValueType
from cep.apps.language.query_parameters import PARAMETER_TYPES, named_parameters, parameters_of

ENDPOINT = "app:endpoint"
MOST_ENDPOINTS = 50
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_PARAMETER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,63})(?::([a-z]+))?\}", re.ASCII)
_SAMPLES: dict[ValueType, int | float | str | bool] = {"string": "", "bool": False, "int": 0, "long": 0, "double": 0.0}


@dataclass(frozen=True, slots=True)
class AppEndpoint:
    """`path`: words, and names of parameters in braces. `parameters`: in the order of the path, with their types."""

    path: str
    query: str
    parameters: tuple[tuple[str, ValueType], ...] = ()


def app_endpoints(app: App, terms: OperatorTerms) -> tuple[AppEndpoint, ...]:
    """Return the endpoints that the text declares, in their order. Raises AppTextError."""
    found: dict[str, AppEndpoint] = {}
    annotations = [one for one in app.annotations if one.name.lower() == ENDPOINT]
    # has seen nothing, so that names and types are checked; endpoints only read, so that one serves all
    engine = StreamEngine(app, terms=terms) if annotations else None
    for annotation in annotations:
        endpoint = _endpoint(annotation)
        shape = _PARAMETER.sub("{}", endpoint.path)
        if shape in found:
            raise AppTextError(annotation.at, f"two endpoints have the path {endpoint.path!r}")
        if len(found) >= MOST_ENDPOINTS:
            raise AppTextError(annotation.at, f"there are more than {MOST_ENDPOINTS} endpoints")
        found[shape] = endpoint
        if engine is not None:
            _check_query(engine, endpoint, annotation.at)
    return tuple(found.values())


def _endpoint(annotation: Annotation) -> AppEndpoint:
    given = {item.key or "": item.value for item in annotation.items}
    if set(given) != {"path", "query"}:
        raise AppTextError(annotation.at, "write @App:endpoint(path = '/price/{symbol}', query = 'from …')")
    words, parameters = [], []
    for word in given["path"].removeprefix("/").split("/"):
        parameter = _PARAMETER.fullmatch(word)
        if parameter is not None:
            parameters.append((parameter[1], _type(annotation.at, parameter[2] or "string")))
            words.append(f"{{{parameter[1]}}}")
        elif _WORD.fullmatch(word) and word.strip("."):
            words.append(word)
        else:
            problem = f"path = {given['path']!r}: {word!r} is no part of a path; write words and {{parameters}}"
            raise AppTextError(annotation.at, problem)
    if len({name for name, _ in parameters}) < len(parameters):
        raise AppTextError(annotation.at, f"path = {given['path']!r} has a parameter twice")
    return AppEndpoint(f"/{'/'.join(words)}", given["query"], tuple(parameters))


def _type(at: Place, kind: str) -> ValueType:
    known = next((one for one in PARAMETER_TYPES if one == kind), None)
    if known is None:
        raise AppTextError(at, f"there is no parameter type {kind!r}; there are {', '.join(PARAMETER_TYPES)}")
    return known


def _check_query(engine: StreamEngine, endpoint: AppEndpoint, at: Place) -> None:
    try:
        for problem in _problems(endpoint):
            raise AppTextError(at, problem)
        values = {name: Constant(at, _SAMPLES[kind], kind) for name, kind in endpoint.parameters}
        engine.data.ask(parse_on_demand(endpoint.query, values))
    except AppTextError as error:
        if error.at == at:
            raise
        problem = f"the query of {endpoint.path} has a mistake in its {error}"
        raise AppTextError(at, problem, error.expected, error.nearest) from None


def _problems(endpoint: AppEndpoint) -> Iterator[str]:
    query = parse_on_demand(named_parameters(endpoint.query))
    if not isinstance(query.output, Return):
        yield f"the query of {endpoint.path} writes to a table; an endpoint only reads"
    used, declared = set(parameters_of(query)), {name for name, _ in endpoint.parameters}
    for name in sorted(used ^ declared):
        where = "path has" if name in used else "query uses"
        yield f"no part of the {where} the parameter {{{name}}} of {endpoint.path}"
