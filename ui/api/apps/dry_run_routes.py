"""Dry runs of texts: over a recorded session, a tick set, or the last minutes of the running log."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ui.api.apps.app_requests import Desk, body_of, body_schema
from ui.apps.app_texts import AppMistakesError
from ui.apps.dry_runs import MOST_WAITING, DryRuns, DryRunsFullError
from ui.apps.stored_apps import AppAnswerError, AppDesk
from ui.auth.callers import rate_name
from ui.http.problems import PROBLEM_RESPONSE
from ui.http.route_auth import Author
from ui.services.change_audit import auditing

router = APIRouter(prefix="/apps/dry-run", tags=["apps"])

EXAMPLE = {"text": "from quotes[bid > 1.0] select exchange, bid insert into Wide;", "source": {"minutes": 10}}
ASKED: dict[int | str, dict[str, Any]] = dict.fromkeys((401, 403, 404, 409, 422), PROBLEM_RESPONSE)


class SourceBody(BaseModel):
    """One of the three: a recorded session or a tick set by its name, or so many minutes of the running log."""

    model_config = ConfigDict(extra="forbid")

    session: str | None = Field(default=None, min_length=1, max_length=200)
    set: str | None = Field(default=None, min_length=1, max_length=200)
    minutes: Annotated[float, Field(gt=0, le=1_440, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> "SourceBody":
        if sum(one is not None for one in (self.session, self.set, self.minutes)) != 1:
            raise ValueError("name one of session, set and minutes")
        return self


class DryRunBody(BaseModel):
    """`name`: of the app, if its text has none; the ids of the rows begin with it. `against`: another text, or the name
    of a stored app, whose published version it is compared with."""

    model_config = ConfigDict(extra="forbid")

    text: str
    source: SourceBody
    name: str = Field(default="app", pattern="^[A-Za-z][A-Za-z0-9_-]{0,63}$")
    against: str | None = None


@router.post("", status_code=202, responses=ASKED, openapi_extra=body_schema(DryRunBody, EXAMPLE))
async def ask(request: Request, desk: Desk, caller: Author) -> JSONResponse:
    """Queue a dry run. They run one at a time, at lower priority than trading. 409: too many are queued."""
    body = await body_of(request, DryRunBody, "`text` and `source`")
    async with auditing(desk.dashboard, caller, "app.dry_run", body.name) as note:
        note.after = {"source": body.source.model_dump(exclude_none=True), "characters": len(body.text)}
        await _check_source(desk, body.source)
        against = await _against(desk, body.against)
        for text in (body.text, *(() if against is None else (against,))):
            if mistakes := (await desk.texts.check(text, body.name, who=rate_name(caller)))["mistakes"]:
                raise AppMistakesError(mistakes)
        wanted = {"text": body.text, "name": body.name, "against": against}
        try:
            run = _runs(request).ask(wanted | {"source": body.source.model_dump(exclude_none=True)}, caller.name)
        except DryRunsFullError:
            raise AppAnswerError(409, f"Not queued: {MOST_WAITING} dry runs are already queued.") from None
    return JSONResponse(run, 202, headers={"Location": f"/api/apps/dry-run/{run['id']}"})


@router.get("/sources")
async def sources(desk: Desk) -> dict[str, Any]:
    """Return what a dry run can go over: recorded sessions with their times, and all tick sets."""
    known = await desk.dashboard.reader.backtests.tick_sets()
    times = [{"name": one.name, "start_time": one.start_time, "end_time": one.end_time} for one in known]
    return {"sessions": times, "sets": [one.name for one in known]}


@router.get("/{run_id}", responses={404: PROBLEM_RESPONSE})
async def dry_run(request: Request, run_id: str) -> dict[str, Any]:
    """Return the state of a dry run; once it is done with its newest rows, how many came a minute, what it cost, and
    with `against` the rows that only one of the two texts gave."""
    try:
        return _runs(request).view(run_id)
    except KeyError:
        raise _unknown(run_id) from None


@router.get("/{run_id}/rows", responses={404: PROBLEM_RESPONSE})
async def rows(
    request: Request,
    run_id: str,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
) -> dict[str, Any]:
    """Return rows of a dry run that is done, oldest first by partition, with the ids that the published app gives."""
    try:
        return {"rows": await asyncio.to_thread(_runs(request).rows, run_id, offset, limit)}
    except KeyError:
        raise _unknown(run_id) from None


@router.delete("/{run_id}", status_code=202, responses={**ASKED, 204: {"description": "Removed"}})
async def end(request: Request, run_id: str, desk: Desk, caller: Author) -> Response:
    """Cancel a dry run that waits or runs (202, with its state); remove one that has ended (204)."""
    async with auditing(desk.dashboard, caller, "app.dry_run.end", run_id):
        try:
            run = await _runs(request).end(run_id)
        except KeyError:
            raise _unknown(run_id) from None
    return Response(status_code=204) if run is None else JSONResponse(run, 202)


async def _check_source(desk: AppDesk, source: SourceBody) -> None:
    """Raise AppAnswerError for a recording that is not among those that are known, so that no name is a path."""
    name = source.session or source.set
    if name is None:
        return
    known = [one.name for one in await desk.dashboard.reader.backtests.tick_sets()]
    if name not in known:
        there_are = f"there are {', '.join(known)}" if known else "there is none yet"
        raise AppAnswerError(422, f"There is no recorded session or tick set {name[:80]!r}; {there_are}.")


async def _against(desk: AppDesk, against: str | None) -> str | None:
    """Return the other text: as given, or the published version of the app of that name."""
    stored = None if against is None or " " in against.strip() else await desk.dashboard.reader.apps.app(against)
    if against is None or stored is None:
        return against
    return await desk.text(stored.name, stored.order.version or stored.version)


def _runs(request: Request) -> DryRuns:
    runs: DryRuns = request.app.state.dry_runs
    return runs


def _unknown(run_id: str) -> AppAnswerError:
    return AppAnswerError(404, f"There is no dry run {run_id[:40]!r}.")
