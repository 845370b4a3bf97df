"""Stored stream apps: list, write, publish, stop, versions. Changes need an author's or an operator's key."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from runtime.app_door import AppDoor, AppDoorRefusedError, AppDoorSilentError
from store.records.apps import MOST_NOTE_CHARACTERS, StoredApp
from ui.api.apps.app_requests import AppName, Desk, body_of, body_schema
from ui.apps.stored_apps import AppAnswerError, AppDesk, NewText
from ui.auth.callers import Caller, rate_name
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Asker, Author
from ui.rows.app import (
    AppListRow,
    AppSavepointsRow,
    AppsRow,
    AppVersionRow,
    AppVersionsRow,
    LeftOutRow,
    StoredAppRow,
    app_list_row,
    standing_row,
    version_row,
)
from ui.rows.attribute import row_from

router = APIRouter(prefix="/apps", tags=["apps"])

TEXT = "@App:name('wide')\nfrom spreads[max_bps > 20.0] select base, max_bps insert into Wide;"
MOST_REGIONS = 50
RegionName = Annotated[str, Field(max_length=40)]
LONGEST_VERSION = 18
"""Digits; Python refuses to parse thousands."""
Version = Annotated[int, Query(ge=1, le=10**9)]
CHANGED: dict[int | str, dict[str, Any]] = dict.fromkeys((401, 403, 404, 409, 412, 422, 428), PROBLEM_RESPONSE)


class TextBody(BaseModel):
    """`draft`: the text may have mistakes; it cannot be published then."""

    model_config = ConfigDict(extra="forbid")

    text: str
    note: str = Field(default="", max_length=MOST_NOTE_CHARACTERS)
    draft: bool = False

    @property
    def new_text(self) -> NewText:
        return NewText(self.text, self.note, self.draft)


class NewAppBody(TextBody):
    name: str


class ReplaceBody(TextBody):
    """`version`: the one that was changed; or If-Match with the ETag."""

    version: int | None = Field(default=None, ge=1, le=10**9)


class PublishBody(BaseModel):
    """`version`: default the newest. `state`: whether what the version before it has kept goes on, where it fits.
    `savepoint`: the name of one whose state it begins with instead. `regions`: those that it runs in, all if empty;
    default where it ran. `preview`: say what would go on, and change nothing."""

    model_config = ConfigDict(extra="forbid")

    version: int | None = Field(default=None, ge=1, le=10**9)
    state: str = Field(default="keep", pattern="^(keep|empty)$")
    savepoint: str = Field(default="", pattern="^([0-9]{8}T[0-9]{6}Z)?$")
    regions: list[RegionName] | None = Field(default=None, max_length=MOST_REGIONS)
    preview: bool = False


class NoBody(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RollBackBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: int = Field(ge=1, le=10**9)
    state: str = Field(default="keep", pattern="^(keep|empty)$")


class CloneBody(BaseModel):
    """`name`: of the copy, which begins as a draft with the newest text."""

    model_config = ConfigDict(extra="forbid")

    name: str


@router.get("")
async def apps(desk: Desk) -> AppsRow:
    """Return all stored apps by name, with what those that run do at this moment; and what others have left in the
    settings."""
    statuses = await _statuses(desk)
    stored = await desk.dashboard.reader.apps.apps()
    published = {app.name for app in stored if app.order.wanted == "published"}
    left = [one for one in await desk.standing_entries() if one.app not in published]
    return {
        "apps": [_listed(desk, app, statuses) for app in stored],
        "left": [{**standing_row(one), "app": one.app} for one in left],
    }


@router.post(
    "",
    status_code=201,
    responses=CHANGED,
    openapi_extra=body_schema(NewAppBody, {"name": "wide", "text": TEXT, "note": "first"}),
)
async def create(request: Request, desk: Desk, caller: Author) -> JSONResponse:
    """Store a new app as a draft. 409: there is one of that name; 422: what is wrong with the name or the text."""
    body = await body_of(request, NewAppBody, "`name` and `text`")
    app = await desk.create(body.name, body.new_text, caller)
    return await _answer(desk, app, 201, {"Location": f"/api/apps/{app.name}"})


@router.get("/{name}", responses={404: PROBLEM_RESPONSE})
async def app(name: AppName, desk: Desk) -> JSONResponse:
    """Return the app with its newest text, whose version is the ETag, and what it does at this moment."""
    return await _answer(desk, await desk.app(name))


@router.put("/{name}", responses=CHANGED, openapi_extra=body_schema(ReplaceBody, {"version": 1, "text": TEXT}))
async def replace(
    request: Request, name: AppName, desk: Desk, caller: Author, if_match: Annotated[str | None, Header()] = None
) -> JSONResponse:
    """Store a new version of the text; what runs stays as it is until it is published. 428: no version; 409, 412: an
    old one (body, If-Match)."""
    body = await body_of(request, ReplaceBody, "`text`, and `version` if there is no If-Match")
    tag = (if_match or "").strip().strip('"')
    matched = int(tag) if tag.isascii() and tag.isdigit() and len(tag) <= LONGEST_VERSION else None
    expected = body.version if if_match is None else -1 if matched is None else matched
    if expected is None:
        raise ProblemError(428, "Say which version you changed: `version` in the body, or If-Match with the ETag.")
    try:
        return await _answer(desk, await desk.replace(name, body.new_text, expected, caller))
    except AppAnswerError as error:
        if error.current_version is not None and if_match is not None:
            raise ProblemError(412, str(error), {"current_version": error.current_version}) from None
        raise


@router.delete("/{name}", status_code=204, response_class=Response, responses=CHANGED)
async def remove(name: AppName, desk: Desk, caller: Author) -> Response:
    """Remove an app with its versions. 409: it is published; stop it first."""
    await desk.remove(name, caller)
    return Response(status_code=204)


@router.post("/{name}/publish", status_code=202, responses=CHANGED, openapi_extra=body_schema(PublishBody, {}))
async def publish(request: Request, name: AppName, desk: Desk, caller: Author) -> JSONResponse:
    """Let a version run; it takes over from the one before at one offset of the log. 202: the state is `starting`, then
    `running` or `failed` with a reason. With `preview`: 200 with what of the state goes on and what begins empty."""
    body = await body_of(request, PublishBody, "`version` and `state`")
    if body.preview:
        stored = await desk.app(name)
        return JSONResponse(await _preview(desk, stored, body.version or stored.version, caller, body.state == "keep"))
    keeps_state = body.state == "keep"
    app = await desk.order(
        name,
        "publish",
        caller,
        body.version,
        keeps_state=keeps_state,
        savepoint=body.savepoint,
        regions=body.regions,
    )
    return await _answer(desk, app, 202)


@router.post("/{name}/savepoint", status_code=201, responses=CHANGED, openapi_extra=body_schema(NoBody, {}))
async def savepoint(request: Request, name: AppName, desk: Desk, caller: Author) -> dict[str, Any]:
    """Keep what the running app has kept at this moment (of its snapshots, at most 1.5 s old), under the name that
    `publish` takes. 409: it does not run."""
    await body_of(request, NoBody, "nothing")
    return await desk.keep_savepoint(name, caller)


@router.get("/{name}/savepoints", responses=dict.fromkeys((404, 503), PROBLEM_RESPONSE))
async def savepoints(name: AppName, desk: Desk) -> AppSavepointsRow:
    """Return the app's savepoints, newest first, also while it does not run."""
    return {"savepoints": await desk.savepoints(name)}


@router.post("/{name}/start", status_code=202, responses=CHANGED, openapi_extra=body_schema(NoBody, {}))
async def start(request: Request, name: AppName, desk: Desk, caller: Author) -> JSONResponse:
    """Let the version run again that ran last. 409: none was published yet."""
    await body_of(request, NoBody, "nothing")
    version = (await desk.app(name)).order.version
    if version is None:
        raise AppAnswerError(409, f"The app {name} was never published; publish it.")
    return await _answer(desk, await desk.order(name, "start", caller, version), 202)


@router.post("/{name}/stop", status_code=202, responses=CHANGED, openapi_extra=body_schema(NoBody, {}))
async def stop(request: Request, name: AppName, desk: Desk, caller: Author) -> JSONResponse:
    """Stop the app; what it has kept stays for a start in this session."""
    await body_of(request, NoBody, "nothing")
    return await _answer(desk, await desk.order(name, "stop", caller), 202)


@router.post(
    "/{name}/rollback", status_code=202, responses=CHANGED, openapi_extra=body_schema(RollBackBody, {"version": 1})
)
async def roll_back(request: Request, name: AppName, desk: Desk, caller: Author) -> JSONResponse:
    """Let an earlier version run again. The newest text stays what it is."""
    body = await body_of(request, RollBackBody, "`version`")
    app = await desk.order(name, "rollback", caller, body.version, keeps_state=body.state == "keep")
    return await _answer(desk, app, 202)


@router.post(
    "/{name}/clone", status_code=201, responses=CHANGED, openapi_extra=body_schema(CloneBody, {"name": "wide-2"})
)
async def clone(request: Request, name: AppName, desk: Desk, caller: Author) -> JSONResponse:
    """Store the newest text as a new app; its `@App:name`, if it has one, becomes the new name."""
    body = await body_of(request, CloneBody, "`name`")
    text = await desk.renamed_text(name, body.name)
    app = await desk.create(body.name, NewText(text, f"copy of {name}", is_draft=True), caller, "app.clone")
    return await _answer(desk, app, 201, {"Location": f"/api/apps/{app.name}"})


@router.get("/{name}/versions", responses={404: PROBLEM_RESPONSE})
async def versions(name: AppName, desk: Desk) -> AppVersionsRow:
    """Return all versions, newest first."""
    await desk.app(name)
    return {"versions": [version_row(one) for one in await desk.dashboard.reader.apps.versions(name, with_texts=False)]}


@router.get("/{name}/versions/{version}", responses={404: PROBLEM_RESPONSE})
async def version(name: AppName, version: int, desk: Desk) -> AppVersionRow:
    """Return one version with its text."""
    found = await desk.dashboard.reader.apps.version(name, version) if 0 < version <= 10**9 else None
    if found is None:
        raise AppAnswerError(404, f"The app {name} has no version {version}.")
    return version_row(found, with_text=True)


@router.get("/{name}/diff", responses={404: PROBLEM_RESPONSE})
async def diff(
    name: AppName, desk: Desk, caller: Asker, before: Annotated[int, Query(alias="from", ge=1, le=10**9)], to: Version
) -> dict[str, Any]:
    """Return what differs between two versions: `from`, `to`, and `diff`, a unified diff."""
    return {"from": before, "to": to, "diff": await desk.difference(name, before, to, caller)}


async def _statuses(desk: AppDesk) -> dict[str, Any] | None:
    """Return the status of each running app; None while their host does not answer."""
    try:
        return dict(await AppDoor(desk.dashboard.session.home).all_status())
    except (AppDoorSilentError, AppDoorRefusedError):
        return None


def _listed(desk: AppDesk, app: StoredApp, statuses: dict[str, Any] | None) -> AppListRow:
    return app_list_row(app, desk.dashboard.session.session_id, statuses)


async def _answer(
    desk: AppDesk, app: StoredApp, status_code: int = 200, headers: dict[str, str] | None = None
) -> JSONResponse:
    statuses = await _statuses(desk)
    row: StoredAppRow = {
        **_listed(desk, app, statuses),
        "text": await desk.text(app.name, app.version),
        "status": dict((statuses or {}).get(app.name) or {}),
        "actions": {
            "standing": [standing_row(one) for one in await desk.standing_entries() if one.app == app.name],
            "left_out": [row_from(LeftOutRow, one) for one in desk.left_out.of(app.name)],
        },
    }
    return JSONResponse(row, status_code, {"ETag": f'"{app.version}"', **(headers or {})})


async def _preview(desk: AppDesk, app: StoredApp, version: int, caller: Caller, keeps_state: bool) -> dict[str, Any]:
    """Return which parts go on, and which begin empty."""
    text = await desk.text(app.name, version)
    explained = await desk.texts.explain(text, app.name, rate_name(caller))
    parts = [one["name"] for kind in ("tables", "windows", "aggregations") for one in explained[kind]]
    parts += [f"query at line {one['line']}" for one in explained["queries"] if one["parts"]]
    found: dict[str, Any] = {"keeps": [], "empty": parts, "dropped": []}
    if keeps_state:
        try:
            fits = await AppDoor(desk.dashboard.session.home).fits(app.name, text)
            found = {"keeps": list(fits["fit"]), "empty": list(fits["empty"]), "dropped": list(fits.get("dropped", ()))}
        except AppDoorRefusedError:
            # it does not run, so nothing of it could go on
            found["reason"] = "the app does not run in this session, so there is no state to go on with"
    return {**found, "version": version}
