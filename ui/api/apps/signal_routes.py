"""Signals of stream apps over REST."""

from fastapi import APIRouter, Request

from ui.apps.app_signals import AppSignals
from ui.rows.app import SignalsRow

router = APIRouter(tags=["apps"])


@router.get("/signals")
async def signals(request: Request) -> SignalsRow:
    """Return what the running apps say of each entity now, in their tables `Signals`, the worst first."""
    found: AppSignals = request.app.state.signals
    return await found.now()
