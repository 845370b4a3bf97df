"""GET and PATCH /api/settings: optimistic concurrency by version; changes need a key.

Also the session's assets: a new version of the settings takes one off the session, or back.
"""

from collections.abc import Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from market.decide.settings import Settings
from session.session import Session
from store.errors import VersionConflictError
from ui.desk.what_if import WhatIf
from ui.desk.what_if_rows import WhatIfRow
from ui.http.problems import PROBLEM_RESPONSE, ProblemError, json_object
from ui.http.rejected_changes import record_rejection
from ui.http.route_auth import Asker, Operator
from ui.http.row_pages import Cursor, Limit, PageRow, page_row
from ui.rows.settings import VersionRow, version_row
from ui.services.dashboard import dashboard_of
from ui.services.settings import (
    SettingsInvalidError,
    SettingsMissingError,
    change_settings,
    is_traded,
    known_settings,
    switch_asset,
)

router = APIRouter(tags=["settings"])

ChangedBy = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=64,
        description="Name recorded in the settings history; default: the key's name.",
    ),
]

LONGEST_VERSION = 18
"""Maximum digits of a version; Python refuses to parse thousands."""
LONGEST_NAME = 20
"""Characters of an asset's name that an answer repeats."""
NO_SETTINGS = "There are no settings yet; they appear with the first start of the system."
PATCH_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The settings to change, and `version`: the version that was changed (or If-Match).",
        "content": {
            "application/json": {
                "schema": {"type": "object"},
                "example": {"version": 1, "min_net_bps": 7.5, "trading_state": "running"},
            }
        },
    }
}


WHAT_IF_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The settings to try, as for a change.",
        "content": {"application/json": {"schema": {"type": "object"}, "example": {"min_net_bps": 7.5}}},
    }
}


@router.get("/settings", responses={404: PROBLEM_RESPONSE})
async def settings(request: Request) -> JSONResponse:
    """Return the settings in force; the ETag is their version. A region that does not reach the store's primary answers
    from its own member."""
    current = await known_settings(dashboard_of(request.app))
    if current is None:
        raise ProblemError(404, NO_SETTINGS)
    return _answer(current)


@router.get("/settings/versions")
async def versions(request: Request, cursor: Cursor = None, limit: Limit = 50) -> PageRow[VersionRow]:
    """Return every version, newest first: who changed what, when."""
    return page_row(await dashboard_of(request.app).reader.settings_history(cursor, limit), version_row)


@router.patch(
    "/settings",
    responses=dict.fromkeys((401, 404, 409, 412, 422, 428), PROBLEM_RESPONSE),
    openapi_extra=PATCH_BODY,
)
async def patch_settings(
    request: Request,
    caller: Operator,
    if_match: Annotated[str | None, Header()] = None,
    x_changed_by: ChangedBy = None,
) -> JSONResponse:
    """Change some settings. 401: no key; 428: no version; 409, 412: an old one (body, If-Match); 422: what is wrong."""
    dashboard = dashboard_of(request.app)
    try:
        changes, expected, conflict_status = _asked(await request.body(), if_match)
    except ProblemError as problem:
        await record_rejection(request, problem.detail, caller)
        raise
    return await _changed(change_settings(dashboard, changes, expected, caller, x_changed_by or ""), conflict_status)


def _asked(body: bytes, if_match: str | None) -> tuple[dict[str, object], int, int]:
    """Return the change, the version that it was made from, and the status if that version is old. Raises
    ProblemError."""
    changes = json_object(body, "the settings to change")
    body_version = _version_in(changes)
    match_version = _version_of_etag(if_match)
    expected = match_version if match_version is not None else body_version
    if expected is None:
        raise ProblemError(428, "Say which version you changed: `version` in the body, or If-Match with the ETag.")
    if match_version is not None and body_version not in (None, match_version):
        raise ProblemError(422, "`version` in the body and If-Match differ.")
    return changes, expected, 409 if match_version is None else 412


async def _changed(change: Coroutine[Any, Any, Settings], conflict_status: int) -> JSONResponse:
    try:
        return _answer(await change)
    except SettingsMissingError:
        raise ProblemError(404, NO_SETTINGS) from None
    except VersionConflictError as conflict:
        detail = f"The settings are at version {conflict.current} by now; read them again and change those."
        raise ProblemError(conflict_status, detail, {"current_version": conflict.current}) from None
    except SettingsInvalidError as invalid:
        raise ProblemError(422, f"Not changed. {invalid}.", {"errors": invalid.errors}) from None


def _answer(current: Settings) -> JSONResponse:
    return JSONResponse(current.model_dump(mode="json"), headers={"ETag": f'"{current.version}"'})


def _version_in(changes: dict[str, object]) -> int | None:
    """Take the version out of the changes. Raises ProblemError if it is no version."""
    version = changes.pop("version", None)
    if version is None:
        return None
    if isinstance(version, bool) or not isinstance(version, int):
        raise ProblemError(422, "`version` must be a whole number.", {"errors": [_WRONG_VERSION]})
    return version


_WRONG_VERSION = {"field": "version", "why": "must be a whole number"}


def _version_of_etag(if_match: str | None) -> int | None:
    """Return the version in If-Match; None without the header or for `*`, which names no version; -1, which never
    matches, for a foreign tag."""
    if if_match is None or if_match.strip() == "*":
        return None
    tag = if_match.strip().strip('"')
    return int(tag) if tag.isascii() and tag.isdigit() and len(tag) <= LONGEST_VERSION else -1


@router.post("/settings/what-if", responses=dict.fromkeys((404, 422), PROBLEM_RESPONSE), openapi_extra=WHAT_IF_BODY)
async def what_if(request: Request, _: Asker) -> WhatIfRow:
    """Return what a change would have done in the last hour, together and each field alone, before it is made: which
    arbitrages would not have been begun, and which rejected opportunities would have been. It changes nothing."""
    changes = json_object(await request.body(), "the settings to change")
    changes.pop("version", None)
    asked: WhatIf = request.app.state.what_if
    try:
        return await asked.row(dashboard_of(request.app), changes)
    except SettingsMissingError:
        raise ProblemError(404, NO_SETTINGS) from None
    except SettingsInvalidError as invalid:
        raise ProblemError(422, f"Not tried. {invalid}.", {"errors": invalid.errors}) from None


class AssetRow(TypedDict):
    """`markets`: exchange → symbol. Nothing new is opened in an asset that is not `enabled`; one that `is_standby` has
    no prices."""

    base: str
    enabled: bool
    is_standby: bool
    markets: dict[str, str]
    settings_version: int


@router.get("/assets", tags=["assets"], responses={404: PROBLEM_RESPONSE})
async def assets(request: Request) -> list[AssetRow]:
    """Return the assets that the session compares or has on standby, in the order of its configuration."""
    dashboard = dashboard_of(request.app)
    current = await known_settings(dashboard)
    if current is None:
        raise ProblemError(404, NO_SETTINGS)
    return [_row(dashboard.session, base, current) for base in dashboard.session.bases]


@router.put("/assets/{base}", tags=["assets"], responses=dict.fromkeys((401, 404), PROBLEM_RESPONSE))
async def enable_asset(request: Request, base: str, caller: Operator) -> AssetRow:
    """Trade an asset of the session again, or add one that is on standby: its feeds start, nothing restarts."""
    return await _switched(request, base, caller, is_on=True)


@router.delete("/assets/{base}", tags=["assets"], responses=dict.fromkeys((401, 404), PROBLEM_RESPONSE))
async def disable_asset(request: Request, base: str, caller: Operator) -> AssetRow:
    """Take an asset off the session: nothing new is opened, what is open is finished."""
    return await _switched(request, base, caller, is_on=False)


async def _switched(request: Request, base: str, caller: Operator, is_on: bool) -> AssetRow:
    """Switch an asset of the session on or off. Raises ProblemError."""
    dashboard = dashboard_of(request.app)
    known = dashboard.session.bases
    if base not in known:
        names = ", ".join(known)
        raise ProblemError(
            404,
            f"This session has no asset {base[:LONGEST_NAME]!r}; `assets` and `standby_assets` in arbitrage.toml name "
            f"{names}.",
        )
    try:
        saved = await switch_asset(dashboard, base, is_on, caller)
    except SettingsMissingError:
        raise ProblemError(404, NO_SETTINGS) from None
    return _row(dashboard.session, base, saved)


def _row(session: Session, base: str, settings: Settings) -> AssetRow:
    return {
        "base": base,
        "enabled": is_traded(session, base, settings),
        "is_standby": session.is_on_standby(base, settings),
        "markets": {market.exchange: market.symbol for market in session.traded if market.base == base},
        "settings_version": settings.version,
    }
