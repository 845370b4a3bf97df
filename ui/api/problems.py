"""Every error of the API as problem details (RFC 9457), in words a person can act on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from store.errors import CursorError, StoreError
from ui.field_problems import FieldProblem, field_problems

MEDIA_TYPE = "application/problem+json"


class Problem(BaseModel):
    """Problem details; `errors` and `current_version` where they apply."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] | None = None
    current_version: int | None = None


@dataclass(slots=True)
class ProblemError(Exception):
    """Answers a request with `status` and `detail`; `members` are added to the problem's body."""

    status: int
    detail: str
    members: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


PROBLEM_RESPONSE: dict[str, Any] = {"model": Problem, "description": "Problem details", "content": {MEDIA_TYPE: {}}}


def problem_response(
    status: int, detail: str, members: Mapping[str, object] | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JSONResponse({**body, **(members or {})}, status, headers, MEDIA_TYPE)


def problem_of(error: ProblemError) -> JSONResponse:
    return problem_response(error.status, error.detail, error.members, error.headers)


def answer_problems(app: FastAPI) -> None:
    """Make all errors of `app` problem details."""

    @app.exception_handler(ProblemError)
    async def _problem(_: Request, error: ProblemError) -> JSONResponse:
        return problem_of(error)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        detail = f"There is nothing at {request.url.path}." if error.status_code == 404 else str(error.detail)
        return problem_response(error.status_code, detail, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        wrong = field_problems(error.errors(), "request")
        return problem_response(422, "The request is not valid.", {"errors": wrong})

    @app.exception_handler(CursorError)
    async def _cursor(_: Request, error: CursorError) -> JSONResponse:
        return problem_response(422, str(error), {"errors": [FieldProblem(field="query.cursor", why="unknown")]})

    @app.exception_handler(StoreError)
    async def _store(_: Request, error: StoreError) -> JSONResponse:
        return problem_response(503, f"MongoDB did not answer: {error}", headers={"Retry-After": "2"})
