"""Records changes that were rejected before they were tried in the audit log, up to a limited rate."""

from fastapi import Request

from ui.auth.callers import ANYBODY, Caller
from ui.services.change_audit import audit_rejection
from ui.services.dashboard import dashboard_of

API = "/api"
READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
UNCHANGING_PATHS = frozenset({"/api/tickets", "/api/apps/check", "/api/apps/explain"})


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


async def record_rejection(request: Request, reason: str, caller: Caller | None = None) -> None:
    """Record the rejected change; requests that only read are ignored. Without `caller`, the route's caller so far,
    else the anonymous one."""
    if request.method in READING_METHODS or request.url.path in UNCHANGING_PATHS:
        return
    dashboard = dashboard_of(request.app)
    known: Caller | None = caller or getattr(request.state, "caller", None)
    path: str = getattr(request.scope.get("route"), "path", request.url.path)
    # FastAPI may give a route's path without its router's prefix
    action = f"{request.method} {path if path.startswith(API) else API + path}"
    who = known or Caller(ANYBODY, "viewer", "open", address_of(request))
    await audit_rejection(dashboard, who, action, request.url.path, reason)
