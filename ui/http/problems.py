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
from ui.http.rejected_changes import note_rejection
from ui.rows.field_problems import FieldProblem, field_problems, words_of

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A kind of problem; one for each status."""

    name: str
    status: int
    title: str
    advice: str


PROBLEM_TYPES = (
    ProblemType(
        "key-needed", 401, "A key is needed", "Send a key that counts: X-API-Key, Authorization: Bearer, or sign in."
    ),
    ProblemType(
        "not-allowed", 403, "The caller may not do this", "Ask the owner for an operator's key, or use our own origin."
    ),
    ProblemType("not-found", 404, "There is nothing here", "Look it up in the resource that lists it."),
    ProblemType("wrong-method", 405, "The resource does not take this method", "The header Allow says which it takes."),
    ProblemType("too-slow", 408, "The request came too slowly", "Send it again, whole and in one go."),
    ProblemType("conflict", 409, "It has changed, or is in the way", "Read it again and decide anew."),
    ProblemType("version-passed", 412, "If-Match names a version that is over", "Read it again; use the new ETag."),
    ProblemType("too-large", 413, "The body is too large", "Send less at once."),
    ProblemType("invalid", 422, "A value is not valid", "`errors` names each field and what is wrong with it."),
    ProblemType("version-needed", 428, "Say which version was changed", "Send If-Match with the ETag, or `version`."),
    ProblemType("too-many-requests", 429, "Too many requests", "Wait for as many seconds as Retry-After says."),
    ProblemType("not-answering", 503, "Something behind this service does not answer", "Try again after Retry-After."),
)
_BY_STATUS = {one.status: one for one in PROBLEM_TYPES}


def type_address(kind: ProblemType) -> str:
    """Relative to this service, where it can be read."""
    return f"/api/problems/{kind.name}"


class Problem(BaseModel):
    """Problem details; `errors` and `current_version` where they apply. `type` can be read at its own address."""

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
    kind = _BY_STATUS.get(status)
    place = "about:blank" if kind is None else type_address(kind)
    title = HTTPStatus(status).phrase if kind is None else kind.title
    body = {"type": place, "title": title, "status": status, "detail": detail}
    return JSONResponse({**body, **(members or {})}, status, headers, MEDIA_TYPE)


def invalid_response(wrong: list[FieldProblem]) -> JSONResponse:
    """The reason stands in `detail` for people, and by field in `errors` for programs."""
    return problem_response(422, f"The request is not valid. {words_of(wrong)}.", {"errors": wrong})


def problem_of(error: ProblemError) -> JSONResponse:
    return problem_response(error.status, error.detail, error.members, error.headers)


def answer_problems(app: FastAPI) -> None:
    """Make all errors of `app` problem details."""

    @app.exception_handler(ProblemError)
    async def _problem(_: Request, error: ProblemError) -> JSONResponse:
        return problem_of(error)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 400:
            # FastAPI's answer to a body that is no text; one that is no JSON gets 422 from it, and so do both here
            wrong = [FieldProblem(field="body", why="is not JSON in UTF-8")]
            await note_rejection(request, words_of(wrong))
            return invalid_response(wrong)
        detail = f"There is nothing at {request.url.path}." if error.status_code == 404 else str(error.detail)
        return problem_response(error.status_code, detail, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        wrong = field_problems(error.errors(), "request")
        await note_rejection(request, words_of(wrong))
        return invalid_response(wrong)

    @app.exception_handler(CursorError)
    async def _cursor(_: Request, error: CursorError) -> JSONResponse:
        return problem_response(422, str(error), {"errors": [FieldProblem(field="query.cursor", why="unknown")]})

    @app.exception_handler(StoreError)
    async def _store(_: Request, error: StoreError) -> JSONResponse:
        return problem_response(503, f"MongoDB did not answer: {error}", headers={"Retry-After": "2"})
