"""Rejects query parameters that a route does not have: a misspelt filter must not let everything through."""

from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from ui.http.problems import ProblemError
from ui.rows.field_problems import FieldProblem


async def known_parameters(request: Request) -> None:
    """Raise ProblemError 422 if the route does not declare a parameter of the query; it names those and the known
    ones."""
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute):
        return
    known = sorted(set(_names(route.dependant)))
    unknown = [name for name in dict.fromkeys(request.query_params) if name not in known]
    if not unknown:
        return
    there_are = f"known: {', '.join(known)}" if known else "this route has none"
    wrong = [FieldProblem(field=f"query.{name}", why=f"unknown parameter; {there_are}") for name in unknown]
    raise ProblemError(422, f"No parameter {', '.join(map(repr, unknown))}: {there_are}.", {"errors": wrong})


def _names(dependant: Dependant) -> Iterator[str]:
    """Yield the names as in a URL, including those of dependencies and of parameter models."""
    for parameter in dependant.query_params:
        kind = parameter.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from (field.alias or name for name, field in kind.model_fields.items())
        else:
            yield parameter.alias
    for needed in dependant.dependencies:
        yield from _names(needed)
