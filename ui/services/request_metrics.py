"""Counts and times requests by route, around all other handlers."""

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from market.time_units import MICROSECONDS
from runtime.clock import steady_now

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class RequestMetrics:
    """Counts of one process. Routes are templates, so that a made-up path does not become a label."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "arbitrage_http_requests",
            "Requests answered, by route template.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._durations = Histogram(
            "arbitrage_http_request_duration_seconds",
            "From a request's arrival until its answer begins.",
            ("method", "route"),
            registry=self.registry,
            buckets=BOUNDS,
        )

    def record(self, method: str, route: str, status: int, microseconds: int) -> None:
        known = method if method in METHODS else OTHER
        self._requests.labels(known, route, str(status)).inc()
        self._durations.labels(known, route).observe(microseconds / MICROSECONDS)


class CountedRequests:
    """Counts every HTTP request once, when its answer begins; a stream's end may be hours away."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, path = steady_now(), str(scope["path"])

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.record(scope["method"], _route(scope, path), message["status"], steady_now() - began)
            await send(message)

        await self._app(scope, receive, counted)


def _route(scope: Scope, path: str) -> str:
    """Return the route's template; the folder if a folder of ours answers; `pages` if Streamlit does."""
    template, folder = getattr(scope.get("route"), "path", None), path.split("/", 2)[1]
    if isinstance(template, str):
        # FastAPI gives a route of an included router without the router's prefix
        return template if folder != "api" or template.startswith("/api") else f"/api{template}"
    if folder == "api":
        return OTHER
    return f"/{folder}" if folder in ("assets", "vendor") else "pages"
