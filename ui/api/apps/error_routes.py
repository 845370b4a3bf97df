"""The error store of stream apps: rows that failed, to look at, edit, give again and drop."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from store.records.failed_rows import FailedChoice, FailedRow, FailedState, FailureKind
from ui.api.apps.app_requests import AppName, Desk, body_of, body_schema
from ui.apps.failed_rows import MOST_AT_ONCE, FailedDesk
from ui.apps.stored_apps import AppAnswerError, AppDesk
from ui.http.problems import PROBLEM_RESPONSE
from ui.http.route_auth import Author, Operator
from ui.rows.app import FailedRowRow, FailedRowsRow, failed_row, key_of, stored_key

router = APIRouter(prefix="/apps", tags=["apps"])

LONGEST = 200
MOST = 500
"""Of one page."""
CHANGED: dict[int | str, dict[str, Any]] = dict.fromkeys((401, 403, 404, 409, 422, 503), PROBLEM_RESPONSE)
Text = Annotated[str, Query(max_length=LONGEST)]


class ValuesBody(BaseModel):
    """`values` by column, all of them."""

    model_config = ConfigDict(extra="forbid")

    values: dict[str, str | int | float | bool | None]


class ChoiceBody(BaseModel):
    """`keys`: of the rows; or `all` that fit the others, which wait."""

    model_config = ConfigDict(extra="forbid")

    keys: list[str] = Field(default_factory=list, max_length=MOST_AT_ONCE)
    all: bool = False
    stream: str | None = Field(default=None, max_length=LONGEST)
    kind: FailureKind | None = None
    contains: str = Field(default="", max_length=LONGEST)

    def choice(self, app: str, state: FailedState | None) -> FailedChoice:
        """Return the rows that are meant; with `all`, those of a state. Raises AppAnswerError 422 if none are
        named."""
        if bool(self.keys) == self.all:
            raise AppAnswerError(422, "Say which rows: `keys`, or `all` with what they have in common.")
        if self.all:
            return FailedChoice(self.stream, self.kind, state, self.contains)
        return FailedChoice(keys=tuple(_key(app, one) for one in self.keys))


class ReplayBody(ChoiceBody):
    """`again`: also rows that were given again already, and have not failed since."""

    again: bool = False


@router.get("/{name}/errors", responses={404: PROBLEM_RESPONSE})
async def errors(
    name: AppName,
    desk: Desk,
    stream: Annotated[str | None, Query(max_length=LONGEST)] = None,
    kind: FailureKind | None = None,
    state: FailedState | None = None,
    contains: Text = "",
    after: Annotated[str, Query(max_length=1_000)] = "",
    limit: Annotated[int, Query(ge=1, le=MOST)] = 100,
) -> FailedRowsRow:
    """Return rows of the app that failed, in the order in which they failed first."""
    found, count = await (await _of(desk, name)).page(FailedChoice(stream, kind, state, contains), after, limit)
    following = found[-1].place if len(found) == limit else None
    return {"errors": [failed_row(one) for one in found], "next": following, "count": count}


@router.get("/{name}/errors/{key}", responses={404: PROBLEM_RESPONSE})
async def error(name: AppName, key: str, desk: Desk) -> FailedRowRow:
    """Return one row that failed."""
    return failed_row(await (await _of(desk, name)).row(_key(name, key)))


@router.put(
    "/{name}/errors/{key}",
    responses=CHANGED,
    openapi_extra=body_schema(ValuesBody, {"values": {"symbol": "BTC", "amount": 2.5}}),
)
async def edit(request: Request, name: AppName, key: str, desk: Desk, caller: Operator) -> FailedRowRow:
    """Set the values of a row that failed, before it is given again. Operators."""
    body = await body_of(request, ValuesBody, "`values`")
    return failed_row(await (await _of(desk, name)).edit(_key(name, key), body.values, caller))


@router.post(
    "/{name}/errors/replay", status_code=202, responses=CHANGED, openapi_extra=body_schema(ReplayBody, {"all": True})
)
async def replay(request: Request, name: AppName, desk: Desk, caller: Author) -> dict[str, Any]:
    """Give rows to the running app again, in the order in which they failed first, at most 1,000; each keeps its id.
    Those that wait, unless the body says `again`. The answer says how many, and at which it stopped and why, if it
    did."""
    body = await body_of(request, ReplayBody, "`keys` or `all`")
    choice = replace(body.choice(name, "waiting"), state=None if body.again else "waiting")
    done = await (await _of(desk, name)).replay(choice, caller)
    stopped: FailedRow | None = done.stopped_at
    return {"replayed": done.count, "stopped_at": stopped and key_of(stopped), "reason": done.problem}


@router.post("/{name}/errors/drop", responses=CHANGED, openapi_extra=body_schema(ChoiceBody, {"all": True}))
async def drop(request: Request, name: AppName, desk: Desk, caller: Author) -> dict[str, int]:
    """Remove rows, at most 1,000; with `all`, those that fit, whether they wait or were given again."""
    body = await body_of(request, ChoiceBody, "`keys` or `all`")
    return {"dropped": await (await _of(desk, name)).drop(body.choice(name, None), caller)}


async def _of(desk: AppDesk, name: str) -> FailedDesk:
    """Raise AppAnswerError 404 if there is no such app."""
    return FailedDesk(desk, (await desk.app(name)).name)


def _key(app: str, key: str) -> str:
    found = stored_key(app, key)
    if found is None:
        raise AppAnswerError(404, f"{key[:80]!r} is no key of a failed row; GET /api/apps/{app}/errors lists them.")
    return found
