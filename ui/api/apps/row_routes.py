"""Rows of running stream apps: the newest of a stream, questions over tables and windows, endpoints that a text
declares, and rows put in by hand."""

import re
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from runtime.app_door import MOST_ROWS, AppAnswer, AppRowSeen
from ui.api.apps.app_requests import AppName, Desk, Door, body_of, body_schema
from ui.apps.app_endpoints import AppEndpoints, query_of
from ui.apps.stored_apps import AppAnswerError
from ui.auth.callers import Caller
from ui.http.problems import PROBLEM_RESPONSE
from ui.http.route_auth import Asker, Operator
from ui.services.change_audit import auditing

router = APIRouter(prefix="/apps", tags=["apps"])

MILLI = 1_000
LONGEST_QUERY = 10_000
LONGEST_STREAM = 200
WRITES = re.compile(r"\b(insert|update|delete)\b", re.IGNORECASE)
RUNNING: dict[int | str, dict[str, Any]] = dict.fromkeys((404, 409, 422, 503), PROBLEM_RESPONSE)


class AppRowRow(TypedDict):
    """`id`: as in the topic `apps`; `time`: microseconds UTC, by the app's clock; `values` by column."""

    id: str
    time: int
    values: dict[str, Any]


class AppRowsRow(TypedDict):
    """Oldest first."""

    rows: list[AppRowRow]


class AnswerColumnRow(TypedDict):
    name: str
    type: str


class AsOfRow(TypedDict):
    """The last row of the app's log that the answer knows: its offset, and its time in microseconds UTC. With several
    partitions those of the one that is furthest behind."""

    offset: int | None
    time: int | None


class AppAnswerRow(TypedDict):
    """`rows`: values in the order of `columns`. `partitions`: `as_of` of each."""

    columns: list[AnswerColumnRow]
    rows: list[list[Any]]
    as_of: AsOfRow
    partitions: list[dict[str, Any]]


class QueryBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=LONGEST_QUERY)


class InjectBody(BaseModel):
    """`values` by column; those that are left out are null."""

    model_config = ConfigDict(extra="forbid")

    values: dict[str, str | int | float | bool | None]


@router.get("/{name}/streams/{stream}", responses=RUNNING)
async def rows(
    name: AppName, stream: str, door: Door, last: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 50
) -> AppRowsRow:
    """Return the newest rows of any stream of a running app, oldest first."""
    return {"rows": [row_seen(one) for one in await door.rows(name, stream[:LONGEST_STREAM], last)]}


@router.post(
    "/{name}/streams/{stream}",
    status_code=202,
    responses=RUNNING,
    openapi_extra=body_schema(InjectBody, {"values": {"symbol": "BTC/USD", "price": 100.0}}),
)
async def inject(
    request: Request, name: AppName, stream: str, desk: Desk, door: Door, caller: Operator
) -> dict[str, Any]:
    """Put a row into a stream that the text defines; it goes through the app's log like any other. Operators, in paper
    sessions alone."""
    body = await body_of(request, InjectBody, "`values`")
    async with auditing(desk.dashboard, caller, "app.inject", f"{name}/{stream}"[:LONGEST_STREAM]) as note:
        note.after = body.values
        if desk.dashboard.session.mode != "paper":
            raise AppAnswerError(409, "Rows are put in by hand in paper sessions alone.")
        return dict(await door.inject(name, stream[:LONGEST_STREAM], body.values))


@router.post(
    "/{name}/query",
    responses={403: PROBLEM_RESPONSE, **RUNNING},
    openapi_extra=body_schema(QueryBody, {"query": "from Prices on symbol == 'BTC/USD' select symbol, price"}),
)
async def query(request: Request, name: AppName, desk: Desk, door: Door, caller: Asker) -> AppAnswerRow:
    """Ask the tables, named windows and aggregations of a running app. Queries that write to a table are for operators,
    and are in the audit log."""
    asked = (await body_of(request, QueryBody, "`query`")).query
    if not (_may_write(request, caller) and WRITES.search(asked)):
        return answer_row(await door.query(name, asked))
    async with auditing(desk.dashboard, caller, "app.query", name) as note:
        note.after = {"query": asked}
        return answer_row(await door.query(name, asked, may_write=True))


@router.get("/{name}/endpoints", responses={404: PROBLEM_RESPONSE})
async def endpoints(request: Request, name: AppName, desk: Desk) -> dict[str, list[dict[str, Any]]]:
    """Return the endpoints that the published text declares, with their parameters and queries."""
    return {"endpoints": await endpoints_of(request).of(desk, await desk.app(name))}


@router.get("/{name}/endpoints/{path:path}", responses=RUNNING)
async def ask_endpoint(request: Request, name: AppName, path: str, desk: Desk, door: Door, _: Asker) -> AppAnswerRow:
    """Answer the query of an endpoint that the text declares. A part of the path is a value, whatever it contains; a
    slash in it is %2F."""
    known = await endpoints_of(request).of(desk, await desk.app(name))
    asked, values = query_of(name, known, _words(request, path))
    return answer_row(await door.query(name, asked, values))


def endpoints_of(request: Request) -> AppEndpoints:
    found: AppEndpoints = request.app.state.app_endpoints
    return found


def row_seen(row: AppRowSeen) -> AppRowRow:
    return {"id": row.id, "time": row.time * MILLI, "values": dict(row.values)}


def answer_row(answer: AppAnswer) -> AppAnswerRow:
    partitions = [{**one, "time": None if one.get("time") is None else one["time"] * MILLI} for one in answer.as_of]
    behind = min(partitions, key=lambda one: one["time"] or 0, default={})
    return {
        "columns": [{"name": name, "type": kind} for name, kind in answer.columns],
        "rows": [list(row) for row in answer.rows],
        "as_of": {"offset": behind.get("offset"), "time": behind.get("time")},
        "partitions": partitions,
    }


def _words(request: Request, path: str) -> list[str]:
    """Return the parts of the path behind `endpoints/`, each decoded by itself, so that a slash in a value is one."""
    raw: bytes = request.scope.get("raw_path") or b""
    _, found, rest = raw.decode("ascii", "replace").partition("/endpoints/")
    return [unquote(word) for word in rest.partition("?")[0].split("/")] if found else path.split("/")


def _may_write(request: Request, caller: Caller) -> bool:
    """Return whether the caller may change a table; a cookie alone may not, since browsers send it by themselves."""
    return caller.may_change and (caller.means != "sign-in" or "origin" in request.headers)
