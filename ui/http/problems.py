"""Every error of the API as problem details (RFC 9457), with a sentence that says what to do."""

import json
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
from ui.auth.question_turns import QuestionsBusyError
from ui.http.rejected_changes import record_rejection
from ui.rows.field_problems import FieldProblem, field_problems, words_of

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A kind of problem; one for each status."""

    name: str
    status: int
    title: str
    advice: str


AGAIN_SECONDS = "2"
"""After a 503 that does not know better."""
PROBLEM_TYPES = (
    ProblemType(
        "key-needed", 401, "A key is needed", "Send a valid key: X-API-Key, Authorization: Bearer, or sign in."
    ),
    ProblemType("not-allowed", 403, "Not allowed", "Use an operator's key, or the dashboard's own origin."),
    ProblemType("not-found", 404, "Not found", "Look up the id in the list of the resource."),
    ProblemType("wrong-method", 405, "Method not allowed", "The Allow header lists the methods."),
    ProblemType("too-slow", 408, "Request too slow", "Send the whole request at once."),
    ProblemType("conflict", 409, "Conflict", "Read the resource again, then retry."),
    ProblemType(
        "version-passed", 412, "If-Match names an old version", "Read the resource again and use its new ETag."
    ),
    ProblemType("too-large", 413, "Body too large", "Send a smaller body."),
    ProblemType("invalid", 422, "Invalid value", "`errors` names each field and what is wrong with it."),
    ProblemType("version-needed", 428, "Version required", "Send If-Match with the ETag, or `version`."),
    ProblemType("too-many-requests", 429, "Too many requests", "Wait for the seconds given in Retry-After."),
    ProblemType("not-answering", 503, "A service does not answer", "Try again after Retry-After."),
)
_BY_STATUS = {one.status: one for one in PROBLEM_TYPES}


def type_address(kind: ProblemType) -> str:
    """Return the path of the kind's page on this service."""
    return f"/api/problems/{kind.name}"


class Problem(BaseModel):
    """Problem details; `errors` and `current_version` if they apply. `type` can be read at its own address."""

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
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        # what passes says so for programs too
        headers = {"Retry-After": AGAIN_SECONDS, **(headers or {})}
    return JSONResponse({**body, **(members or {})}, status, headers, MEDIA_TYPE)


def invalid_response(wrong: list[FieldProblem]) -> JSONResponse:
    """Return a 422: `detail` has the reasons for people, `errors` has them by field for programs."""
    return problem_response(422, f"The request is not valid. {words_of(wrong)}.", {"errors": wrong})


def json_object(body: bytes, content: str) -> dict[str, Any]:
    """Return the body, which must be an object with `content`. Raises ProblemError 422."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise ProblemError(422, "The body is not JSON.") from None
    if not isinstance(document, dict):
        raise ProblemError(422, f"The body must be a JSON object with {content}.")
    return document


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
            # FastAPI answers 400 for a body that is not text and 422 for one that is not JSON; both get 422 here
            wrong = [FieldProblem(field="body", why="is not JSON in UTF-8")]
            await record_rejection(request, words_of(wrong))
            return invalid_response(wrong)
        detail = f"There is nothing at {request.url.path}." if error.status_code == 404 else str(error.detail)
        return problem_response(error.status_code, detail, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        wrong = field_problems(error.errors(), "request")
        await record_rejection(request, words_of(wrong))
        return invalid_response(wrong)

    @app.exception_handler(CursorError)
    async def _cursor(_: Request, error: CursorError) -> JSONResponse:
        return problem_response(422, str(error), {"errors": [FieldProblem(field="query.cursor", why="unknown")]})

    @app.exception_handler(QuestionsBusyError)
    async def _busy(_: Request, error: QuestionsBusyError) -> JSONResponse:
        return problem_response(503, str(error), headers={"Retry-After": "2"})

    @app.exception_handler(StoreError)
    async def _store(_: Request, error: StoreError) -> JSONResponse:
        return problem_response(503, f"MongoDB did not answer: {error}")
