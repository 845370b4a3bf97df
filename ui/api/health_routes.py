"""GET /api/health: liveness; /api/ready: Kafka, MongoDB and detection; /api/health/parts: the health report."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from ui.http.problems import PROBLEM_RESPONSE, problem_response
from ui.http.route_auth import REJECTED, Viewer
from ui.rows.attribute import row_from
from ui.rows.health import HealthReportRow
from ui.rows.market import SimulatedMarketRow, SourcesRow, simulated_market_row
from ui.services.dashboard import dashboard_of

router = APIRouter(tags=["health"])


class AliveRow(TypedDict):
    """`now` is market time: in a replay, the recorded one. `simulated_market` is null if there is none."""

    status: str
    mode: str
    session_id: str
    now: int
    sources: SourcesRow
    simulated_market: SimulatedMarketRow | None


@router.get("/health")
async def health(request: Request) -> AliveRow:
    """Return 200 while the process answers."""
    dashboard = dashboard_of(request.app)
    return AliveRow(
        status="ok",
        mode=dashboard.session.mode,
        session_id=dashboard.session.session_id,
        now=dashboard.session.clock().now(),
        sources=row_from(SourcesRow, dashboard.hub.live_state.sources),
        simulated_market=simulated_market_row(dashboard.session),
    )


@router.get("/ready", responses={503: PROBLEM_RESPONSE})
async def ready(request: Request) -> JSONResponse:
    """Return 200 while Kafka and MongoDB answer and detection works, otherwise 503: within three seconds of an outage,
    within ten if Kafka hangs. `missing` names what is down. `detection` is `starting`, `working`, `silent`, or, if the
    start of the session is not known, `unknown`, which does not fail readiness. The answer comes at once, from known
    state."""
    live_state = dashboard_of(request.app).hub.live_state
    sources = row_from(SourcesRow, live_state.sources)
    missing = [name for name, is_live in sources.items() if not is_live]
    missing += ["detection"] if live_state.detection in ("starting", "silent") else []
    state = {"sources": sources, "detection": live_state.detection, "missing": missing}
    if not missing:
        return JSONResponse({"status": "ready", **state})
    return problem_response(503, f"Not there: {', '.join(missing)}.", state, {"Retry-After": "1"})


@router.get("/health/parts", responses=REJECTED)
async def parts(request: Request, _: Viewer) -> HealthReportRow:
    """Return the state of feeds, Kafka, Spark, change streams, latencies and processes, with findings; at most a second
    old."""
    return await dashboard_of(request.app).health.report()
