"""Sweeps from the page: two parameters of a backtest varied over a tick set. The work itself is a process of low
priority; what it found is kept until twenty newer ones are."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from typing_extensions import TypedDict

from ui.api.apps.app_requests import body_of, body_schema
from ui.api.runs.recording_routes import ASKED, check_known
from ui.apps.dry_runs import MOST_WAITING, DryRuns, DryRunsFullError
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Operator
from ui.runs.sweep_asks import SweepAsk
from ui.services.change_audit import auditing
from ui.services.dashboard import dashboard_of

router = APIRouter(prefix="/sweeps", tags=["backtests"])

EXAMPLE = {
    "tick_set": "binance-btc",
    "axes": [{"name": "min_net_bps", "values": ["4", "6", "8"]}, {"name": "max_notional", "values": ["250", "1000"]}],
}


class AxisRow(TypedDict):
    name: str
    values: list[str]


class SweepSetRow(TypedDict):
    """`values`: one of each axis, in their order. Money as decimal strings; `drawdown` at least 0."""

    values: list[str]
    net: str
    trades: int
    drawdown: str


class SweepRow(TypedDict):
    """`share` of `stage`, 0 to 1, while it runs. `sets` once it is done, less those whose settings contradict each
    other; null before. `deflated_sharpe`: the probability that the best is more than luck; null before, and where it
    has too few returns."""

    sweep_id: str
    state: str
    who: str
    asked_at: int
    reason: str | None
    stage: str
    share: float
    tick_set: str
    axes: list[AxisRow]
    currency: str | None
    is_of_bars: bool
    deflated_sharpe: float | None
    sets: list[SweepSetRow] | None


@router.get("")
async def sweeps(request: Request) -> list[SweepRow]:
    """Return all that are kept, newest first, without what their sets made."""
    return [_row(one) for one in _runs(request).listed()]


@router.post("", status_code=202, responses=ASKED, openapi_extra=body_schema(SweepAsk, EXAMPLE))
async def ask(request: Request, caller: Operator) -> JSONResponse:
    """Queue a sweep. They run one at a time, at lower priority than trading. 409: too many are queued."""
    dashboard = dashboard_of(request.app)
    asked = await body_of(request, SweepAsk, "`tick_set` and `axes`")
    axes: list[AxisRow] = [{"name": axis.name, "values": axis.texts} for axis in asked.axes]
    async with auditing(dashboard, caller, "sweep.ask", asked.tick_set) as note:
        note.after = {axis["name"]: ", ".join(axis["values"]) for axis in axes}
        await check_known(dashboard, asked.tick_set)
        wanted = {"tick_set": asked.tick_set, "axes": axes, "home": str(dashboard.session.data_home)}
        try:
            run = _runs(request).ask(wanted, caller.name)
        except DryRunsFullError:
            raise ProblemError(409, f"Not queued: {MOST_WAITING} are already queued.") from None
    return JSONResponse(_row({**wanted, **run}), 202, headers={"Location": f"/api/sweeps/{run['id']}"})


@router.get("/{sweep_id}", responses={404: PROBLEM_RESPONSE})
async def sweep(request: Request, sweep_id: str) -> SweepRow:
    """Return the state; once it is done, what each set made."""
    return _known(request, sweep_id)


@router.delete("/{sweep_id}", status_code=202, responses={**ASKED, 204: {"description": "Removed"}})
async def end(request: Request, sweep_id: str, caller: Operator) -> Response:
    """Cancel one that waits or runs (202, with its state); forget one that has ended (204)."""
    async with auditing(dashboard_of(request.app), caller, "sweep.end", sweep_id):
        try:
            ended = await _runs(request).end(sweep_id)
        except KeyError:
            raise _unknown(sweep_id) from None
    return Response(status_code=204) if ended is None else JSONResponse(_known(request, sweep_id), 202)


def _known(request: Request, sweep_id: str) -> SweepRow:
    """Raise ProblemError 404 if there is none."""
    runs = _runs(request)
    try:
        return _row(runs.asked(sweep_id) | runs.view(sweep_id))
    except KeyError:
        raise _unknown(sweep_id) from None


def _row(run: dict[str, Any]) -> SweepRow:
    return SweepRow(
        sweep_id=run["id"],
        state=run["state"],
        who=run["who"],
        asked_at=run["asked_at"],
        reason=run.get("reason"),
        stage=run.get("stage", ""),
        share=run.get("share", 0.0),
        tick_set=run["tick_set"],
        axes=run["axes"],
        currency=run.get("currency"),
        is_of_bars=run.get("is_of_bars", False),
        deflated_sharpe=run.get("deflated_sharpe"),
        sets=run.get("sets"),
    )


def _runs(request: Request) -> DryRuns:
    runs: DryRuns = request.app.state.sweep_jobs
    return runs


def _unknown(sweep_id: str) -> ProblemError:
    return ProblemError(404, f"There is no sweep {sweep_id[:40]!r}.")
