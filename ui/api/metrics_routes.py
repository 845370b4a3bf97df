"""GET /metrics: what Prometheus reads."""

from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response

from ui.http.route_roles import REJECTED, Viewer
from ui.services.dashboard import Dashboard
from ui.services.prometheus_metrics import Metrics

MEDIA_TYPES = ("text/plain", "application/openmetrics-text")

router = APIRouter(tags=["health"])


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {key: {"schema": {"type": "string"}} for key in MEDIA_TYPES}}, **REJECTED},
)
async def metrics(
    request: Request, _: Viewer, accept: Annotated[str, Header(include_in_schema=False)] = ""
) -> Response:
    """Prometheus' text format, or OpenMetrics where it is asked for. Each name: docs/metrics.md."""
    dashboard: Dashboard = request.app.state.dashboard
    kept: Metrics = request.app.state.metrics
    report = await dashboard.health.report()
    board = dashboard.hub.board
    body, media_type = kept.text(report, board.ledger.totals, board.snapshot().opportunity_count, accept)
    return Response(body, headers={"Content-Type": media_type, "Cache-Control": "no-store"})
