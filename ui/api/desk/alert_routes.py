"""Alerts: what is wrong now and was; operators acknowledge and mute."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from ui.desk.alert_keeper import AlertKeeper
from ui.desk.alerts import NoAlertError, WantedAlerts, acknowledge, alerts_row, mute, unmute
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Operator
from ui.http.row_pages import Limit
from ui.rows.alert import AlertRow, AlertsRow
from ui.services.dashboard import dashboard_of

router = APIRouter(tags=["health"])

AlertId = Annotated[str, Path(max_length=40)]
CHANGED: dict[int | str, dict[str, Any]] = dict.fromkeys((401, 403, 404, 422), PROBLEM_RESPONSE)


class Acknowledgement(BaseModel):
    """`note`: what is known about it."""

    model_config = ConfigDict(extra="forbid")

    note: str = Field("", max_length=500)


class WantedMute(BaseModel):
    """A week at most."""

    model_config = ConfigDict(extra="forbid")

    minutes: int = Field(60, ge=1, le=10_080)


def watch_of(request: Request) -> AlertKeeper:
    watch: AlertKeeper = request.app.state.alerts
    return watch


@router.get("/alerts")
async def alerts(
    request: Request,
    state: Annotated[WantedAlerts, Query(description="Those that are wrong now, those that were, or both.")] = "all",
    limit: Limit = 50,
) -> AlertsRow:
    """Return what is wrong and what was in the last thirty days, looked for every five seconds: the findings of
    `/api/health/parts`, and trading that is off. Open ones come first."""
    return alerts_row(watch_of(request).book, state, limit)


@router.post("/alerts/{alert_id}/acknowledge", responses=CHANGED)
async def acknowledge_alert(request: Request, alert_id: AlertId, wanted: Acknowledgement, caller: Operator) -> AlertRow:
    """Say that somebody looks after it. It stays open until what is wrong is over."""
    dashboard = dashboard_of(request.app)
    try:
        return await acknowledge(dashboard, watch_of(request), alert_id, wanted.note, caller)
    except NoAlertError as error:
        raise ProblemError(404, str(error)) from None


@router.put("/alerts/{alert_id}/mute", responses=CHANGED)
async def mute_alert(request: Request, alert_id: AlertId, wanted: WantedMute, caller: Operator) -> AlertRow:
    """Leave this alert, and others of the same part and words, out of the counts for so long."""
    try:
        return await mute(dashboard_of(request.app), watch_of(request), alert_id, wanted.minutes, caller)
    except NoAlertError as error:
        raise ProblemError(404, str(error)) from None


@router.delete("/alerts/{alert_id}/mute", responses=CHANGED)
async def unmute_alert(request: Request, alert_id: AlertId, caller: Operator) -> AlertRow:
    """Count it again."""
    try:
        return await unmute(dashboard_of(request.app), watch_of(request), alert_id, caller)
    except NoAlertError as error:
        raise ProblemError(404, str(error)) from None
