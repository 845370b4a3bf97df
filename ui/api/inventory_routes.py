"""GET: inventory and the rebalancing plan."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from market.accounting.inventory import Target
from market.trade.arbitrages import OPEN_STATES
from runtime.clock import wall_now
from store.server.page_reader import MAX_ROWS
from ui.rows.inventory import InventoryRow, inventory_row
from ui.services.dashboard import dashboard_of

router = APIRouter(tags=["inventory"])


@router.get("/inventory")
async def inventory(
    request: Request,
    target: Annotated[
        Target, Query(description="Target share of each exchange: its share of the opening balances, or equal shares.")
    ] = "opening",
) -> InventoryRow:
    """Return balances, holds, exposure since the opening, drift, a rebalancing plan, and the transfers made of it: its
    `note` says whether any are."""
    dashboard = dashboard_of(request.app)
    reader, session = dashboard.reader, dashboard.session
    opening, _ = await reader.balances.of_session()
    open_arbitrages = await reader.arbitrages(OPEN_STATES, None, MAX_ROWS)
    profit = await reader.profit(session.settlement_currency)
    return inventory_row(
        session,
        dashboard.hub.live_state.books(),
        tuple(await reader.balances.rows()),
        opening,
        open_arbitrages.items,
        profit.net,
        await reader.transfers.known(wall_now()),
        target,
    )
