"""Texts of stream apps, stored or not: what is wrong with them, and what they are made of."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from ui.api.apps.app_requests import AppName, Desk, body_of, body_schema
from ui.apps.app_texts import ANSWER_SECONDS, TextTimeError
from ui.apps.stored_apps import AppAnswerError
from ui.auth.callers import rate_name
from ui.http.problems import PROBLEM_RESPONSE
from ui.http.route_auth import Asker
from ui.rows.app import CheckedTextRow

router = APIRouter(prefix="/apps", tags=["apps"])

EXAMPLE = {"text": "@App:name('wide')\nfrom spreads[max_bps > 20.0] select base, max_bps insert into Wide;"}
SLOW = f"not checked within {ANSWER_SECONDS:g} s: try again, or write a shorter text"
PUBLISHED = "published"
Version = Annotated[int, Field(ge=1, le=10**9)]
VersionAsked = Annotated[
    Version | Literal["published"] | None,
    Query(description="A number, or `published`: the version that was published last; default the newest."),
]
MISTAKES: dict[int | str, dict[str, Any]] = dict.fromkeys((422,), PROBLEM_RESPONSE)


class TextAsk(BaseModel):
    """`cases`: test cases, a line of JSON each, as `arbitrage app test` takes them."""

    model_config = ConfigDict(extra="forbid")

    text: str
    cases: str | None = Field(default=None, max_length=100_000)


@router.post("/check", responses=MISTAKES, openapi_extra=body_schema(TextAsk, EXAMPLE, "The text, and its cases."))
async def check(request: Request, desk: Desk, caller: Asker) -> CheckedTextRow:
    """Return all mistakes of a text, by their places; none if it can be published. Nothing is stored. A text that is
    not checked in time has one that says so."""
    ask = await body_of(request, TextAsk, "`text`")
    try:
        found: CheckedTextRow = await desk.texts.check(ask.text, cases=ask.cases, who=rate_name(caller))  # type: ignore[assignment]
    except TextTimeError:
        return {"mistakes": [{"line": 1, "column": 1, "message": SLOW}]}
    return found


@router.post("/explain", responses=MISTAKES, openapi_extra=body_schema(TextAsk, EXAMPLE, "The text."))
async def explain(request: Request, desk: Desk, caller: Asker) -> dict[str, Any]:
    """Return what a text is made of: streams, queries, windows, tables, endpoints, and what reads what."""
    return await desk.texts.explain((await body_of(request, TextAsk, "`text`")).text, who=rate_name(caller))


@router.get("/{name}/explain", responses=dict.fromkeys((404, 422), PROBLEM_RESPONSE))
async def explain_stored(name: AppName, desk: Desk, caller: Asker, version: VersionAsked = None) -> dict[str, Any]:
    """Return what a version of the app is made of, as POST /api/apps/explain does, and which one: `version`."""
    app = await desk.app(name)
    number = app.version if version is None else app.order.version if version == PUBLISHED else version
    if number is None:
        raise AppAnswerError(404, f"The app {name} was never published.")
    text = await desk.text(name, int(number))
    return {**await desk.texts.explain(text, name, rate_name(caller)), "version": int(number)}
