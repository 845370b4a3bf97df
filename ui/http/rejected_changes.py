"""Changes that were turned away before anything was tried: the audit log is told of them, up to a rate."""

from fastapi import Request

from session.roles import ANYBODY, Caller
from ui.services.change_audit import audit_rejection
from ui.services.dashboard import Dashboard

API = "/api"
READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
UNCHANGING_PATHS = frozenset({"/api/tickets"})


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


async def record_rejection(request: Request, reason: str, caller: Caller | None = None) -> None:
    """Nothing of what only reads. Without `caller` it is whoever the route knows by now, else anybody."""
    if request.method in READING_METHODS or request.url.path in UNCHANGING_PATHS:
        return
    dashboard: Dashboard = request.app.state.dashboard
    known: Caller | None = caller or getattr(request.state, "caller", None)
    path: str = getattr(request.scope.get("route"), "path", request.url.path)
    # a router's own path may come without the prefix it was included under
    action = f"{request.method} {path if path.startswith(API) else API + path}"
    who = known or Caller(ANYBODY, "viewer", "open", address_of(request))
    await audit_rejection(dashboard, who, action, request.url.path, reason)
