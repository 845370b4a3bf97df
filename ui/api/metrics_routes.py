"""GET /metrics: what Prometheus reads."""

from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response

from ui.http.route_auth import REJECTED, Viewer
from ui.services.dashboard import dashboard_of
from ui.services.prometheus_metrics import Metrics, trading_now

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
    """Return the metrics in Prometheus' text format, or OpenMetrics on request. Names: docs/metrics.md."""
    dashboard = dashboard_of(request.app)
    kept: Metrics = request.app.state.metrics
    report = await dashboard.health.report()
    body, media_type = kept.text(report, trading_now(dashboard.hub.live_state), accept)
    return Response(body, headers={"Content-Type": media_type, "Cache-Control": "no-store"})
