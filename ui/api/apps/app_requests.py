"""What all routes of apps have in common: the desk, bodies, and errors as problems."""

from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Path, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError

from runtime.app_door import AppDoor, AppDoorRefusedError, AppDoorSilentError, Refusal
from store.records.apps import is_app_name
from ui.apps.app_texts import AppMistakesError, AppTexts, TextsBusyError, TextTimeError
from ui.apps.stored_apps import AppAnswerError, AppDesk, unknown
from ui.http.problems import ProblemError, answer_problems, json_object, problem_of, problem_response
from ui.http.rejected_changes import record_rejection
from ui.rows.field_problems import FieldProblem, field_problems, words_of
from ui.services.dashboard import dashboard_of

Body = TypeVar("Body", bound=BaseModel)
LONGEST_PATH = 64
STATUSES: dict[Refusal, int] = {"unknown": 404, "not_running": 409, "mistake": 422, "not_allowed": 403, "failed": 409}
NAME = Path(max_length=LONGEST_PATH, description="The app's name.")
AppName = Annotated[str, NAME]


def texts_of(request: Request) -> AppTexts:
    """Return what knows the language, of a started application."""
    texts: AppTexts = request.app.state.app_texts
    return texts


def app_desk(request: Request) -> AppDesk:
    return AppDesk(dashboard_of(request.app), texts_of(request), request.app.state.left_out_actions)


Desk = Annotated[AppDesk, Depends(app_desk)]


def app_door(request: Request, name: AppName) -> AppDoor:
    """Return the door of the part that runs apps. Raises AppAnswerError for a name that no app has."""
    if not is_app_name(name):
        raise unknown(name)
    return AppDoor(dashboard_of(request.app).session.home)


Door = Annotated[AppDoor, Depends(app_door)]


def answer_app_problems(app: FastAPI) -> None:
    """Make all errors of the service problem details, those of apps too."""
    answer_problems(app)

    @app.exception_handler(AppAnswerError)
    async def _answered(_: Request, error: AppAnswerError) -> JSONResponse:
        return problem_of(problem_of_answer(error))

    @app.exception_handler(AppMistakesError)
    async def _mistaken(_: Request, error: AppMistakesError) -> JSONResponse:
        return problem_of(problem_of_mistakes(error.mistakes, str(error)))

    @app.exception_handler(TextsBusyError)
    async def _busy(_: Request, __: TextsBusyError) -> JSONResponse:
        return problem_response(503, "Too many texts are being checked; try again.")

    @app.exception_handler(TextTimeError)
    async def _late(_: Request, __: TextTimeError) -> JSONResponse:
        return problem_response(503, "The text was not checked in time: try again, or write a shorter one.")

    @app.exception_handler(AppDoorSilentError)
    async def _silent(_: Request, error: AppDoorSilentError) -> JSONResponse:
        return problem_response(503, f"Not answered: {error}")

    @app.exception_handler(AppDoorRefusedError)
    async def _refused(_: Request, error: AppDoorRefusedError) -> JSONResponse:
        return problem_of(problem_of_refusal(error))


def problem_of_answer(error: AppAnswerError) -> ProblemError:
    members = {} if error.current_version is None else {"current_version": error.current_version}
    return ProblemError(error.status, str(error), members)


def problem_of_mistakes(mistakes: list[dict[str, Any]], words: str) -> ProblemError:
    """Return a 422 with `mistakes`, and each as a field's error as well."""
    errors = [
        FieldProblem(field="text", why=f"line {one['line']}, column {one['column']}: {one['message']}")
        for one in mistakes
    ]
    return ProblemError(422, f"The text is no app: {words}.", {"errors": errors, "mistakes": mistakes})


def problem_of_refusal(error: AppDoorRefusedError) -> ProblemError:
    if error.line is None:
        return ProblemError(STATUSES[error.kind], str(error))
    mistake = {"line": error.line, "column": error.column, "message": str(error)}
    return ProblemError(STATUSES[error.kind], str(error), {"mistakes": [mistake]})


async def body_of(request: Request, kind: type[Body], content: str) -> Body:
    """Return the body, checked. `content`: what it should have, in words. Raises ProblemError 422."""
    try:
        return kind.model_validate(json_object(await request.body() or b"{}", content))
    except ValidationError as error:
        wrong = field_problems(error.errors(), "request")
        await record_rejection(request, words_of(wrong))
        raise ProblemError(422, f"The request is not valid. {words_of(wrong)}.", {"errors": wrong}) from None


def body_schema(kind: type[BaseModel], example: dict[str, Any], description: str = "") -> dict[str, Any]:
    """Return what OpenAPI says of a body that the route reads itself."""
    content = {"application/json": {"schema": whole_schema(kind.model_json_schema()), "example": example}}
    return {"requestBody": {"required": True, "description": description, "content": content}}


def whole_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with its parts in their places: in the document their own addresses lead nowhere."""
    parts: dict[str, Any] = schema.get("$defs", {})

    def whole(node: Any) -> Any:
        if isinstance(node, list):
            return [whole(one) for one in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return whole(parts[str(node["$ref"]).rpartition("/")[2]])
        return {name: whole(one) for name, one in node.items() if name != "$defs"}

    found: dict[str, Any] = whole(schema)
    return found
