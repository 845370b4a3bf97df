"""GET: how the destinations of notices do."""

from fastapi import APIRouter, Request

from ui.api.market_routes import dashboard_of
from ui.services.notice_rows import NoticesRow, notices_now

router = APIRouter(tags=["notices"])


@router.get("/notices")
async def notices(request: Request) -> NoticesRow:
    """Each destination that was ever configured, by the name that the configuration gives it, and what it was not told
    in the end. No address and no key of one is known here."""
    return await notices_now(dashboard_of(request))
