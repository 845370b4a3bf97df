"""HEAD as GET without a body, and 405 with the allowed methods for any other."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute, Match, Route
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


def words_of(routers: Iterable[APIRouter], prefix: str) -> dict[str, tuple[str, ...]]:
    """Return the methods of each path without parameters: where one is, a path with a name in its place is not."""
    found: dict[str, list[str]] = {}
    for router in routers:
        for route in router.routes:
            if isinstance(route, Route) and "{" not in route.path:
                found.setdefault(f"{prefix}{route.path}", []).extend(route.methods or ())
    return {path: tuple(one for one in METHODS if one in methods) for path, methods in found.items()}


def reject(request: Request, routes: Sequence[BaseRoute], words: Mapping[str, Sequence[str]]) -> NoReturn:
    """Raise HTTPException: 405 if another method would find something in `routes`, else 404. `words`: of `words_of`."""
    allowed = list(words.get(request.url.path, ()))
    allowed = allowed or [one for one in METHODS if _is_found(routes, {**request.scope, "method": one})]
    if not allowed:
        raise HTTPException(404)
    if "GET" in allowed:
        allowed.insert(1, "HEAD")
    allow = ", ".join(allowed)
    raise HTTPException(405, f"{request.method} is not allowed here; {allow} is.", {"Allow": allow})


def _is_found(routes: Sequence[BaseRoute], scope: Scope) -> bool:
    return any(route.matches(scope)[0] is Match.FULL for route in routes)
