"""GET: the state of the destinations of notices."""

from fastapi import APIRouter, Request

from ui.services.dashboard import dashboard_of
from ui.services.notice_rows import NoticesRow, notices_now

router = APIRouter(tags=["notices"])


@router.get("/notices")
async def notices(request: Request) -> NoticesRow:
    """Return every destination ever configured, by its configured name, and the notices that were dropped. Addresses
    and keys are not shown."""
    return await notices_now(dashboard_of(request.app))
