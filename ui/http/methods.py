"""HEAD as GET without a body; 405 with the methods of a path for any other, 404 if there is no such path."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from re import Pattern
from typing import NoReturn

from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
"""Methods that our routes have."""
PREFIX = "/api/"


class HeadAsGet:
    """Treats HEAD as GET below /api. The server omits the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD" and scope["path"].startswith(PREFIX):
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)


@dataclass(frozen=True, slots=True)
class PathTemplate:
    pattern: Pattern[str]
    methods: tuple[str, ...]


def path_templates(routes: Sequence[BaseRoute]) -> tuple[PathTemplate, ...]:
    """Return the templates of `routes` and their methods, words before parameters.

    The first one that a path matches is the path's own: `/apps/check` is no app of the name `check`."""
    methods: dict[str, set[str]] = {}
    for route in iter_route_contexts(routes):
        if route.path and route.methods:
            methods.setdefault(route.path, set()).update(route.methods)
    return tuple(
        PathTemplate(compile_path(path)[0], tuple(one for one in METHODS if one in methods[path]))
        for path in sorted(methods, key=_places_of_parameters)
    )


class OtherRequests(BaseRoute):
    """Stands before all other routes, and takes the requests that are none's: those with a method that their path does
    not have, which a wider path would take (`DELETE /apps/check` removes no app), and unknown paths below /api, which
    Streamlit would answer with its page."""

    def __init__(self, templates: Callable[[], tuple[PathTemplate, ...]]) -> None:
        self._templates = templates
        """Asked at the first request: FastAPI reads all signatures for it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http":
            return Match.NONE, {}
        methods = self._methods_of(scope["path"])
        is_known = scope["method"] in methods if methods else not scope["path"].startswith(PREFIX)
        return (Match.NONE if is_known else Match.FULL), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> NoReturn:
        """Raise HTTPException: 405 with the methods of the path, else 404."""
        allowed = list(self._methods_of(scope["path"]))
        if not allowed:
            raise HTTPException(404)
        if "GET" in allowed and scope["path"].startswith(PREFIX):
            allowed.insert(1, "HEAD")
        allow = ", ".join(allowed)
        raise HTTPException(405, f"{scope['method']} is not allowed here; {allow} is.", {"Allow": allow})

    def _methods_of(self, path: str) -> tuple[str, ...]:
        """Return none if no template fits."""
        return next((one.methods for one in self._templates() if one.pattern.match(path)), ())


def _places_of_parameters(path: str) -> tuple[int, ...]:
    """Return 0 for each word of the path, 1 for each parameter, 2 for one that takes slashes."""
    return tuple("{" in part and (2 if ":path" in part else 1) for part in path.split("/"))
