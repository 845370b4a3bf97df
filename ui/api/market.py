"""GET: what the streams say – quotes, spreads, opportunities."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from ui.api.paging import Cursor, Limit, PageRow, next_cursor, page_after
from ui.dashboard import Dashboard
from ui.live.snapshot import Snapshot
from ui.rows import OpportunityRow, QuoteRow, SpreadRow
from ui.views import opportunity_row, quote_rows, spread_rows

router = APIRouter(tags=["market"])

Base = Annotated[str | None, Query(max_length=20, description="Base asset, for example BTC.")]
Exchange = Annotated[str | None, Query(max_length=40, description="Exchange, on either side of a pair.")]


def dashboard_of(request: Request) -> Dashboard:
    dashboard: Dashboard = request.app.state.dashboard
    return dashboard


def snapshot_of(request: Request) -> Snapshot:
    return dashboard_of(request).hub.board.snapshot()


@router.get("/quotes")
async def quotes(request: Request, exchange: Exchange = None, base: Base = None) -> list[QuoteRow]:
    """The latest quote of each market, FX included."""
    return [
        row
        for row in quote_rows(snapshot_of(request))
        if exchange in (None, row["exchange"]) and base in (None, row["base"])
    ]


@router.get("/spreads")
async def spreads(request: Request, exchange: Exchange = None, base: Base = None) -> list[SpreadRow]:
    """Exchange × exchange by the latest quotes, net of fees and FX, with the statistics of the last windows."""
    return [
        row
        for row in spread_rows(snapshot_of(request))
        if exchange in (None, row["buy_exchange"], row["sell_exchange"]) and base in (None, row["base"])
    ]


@router.get("/opportunities")
async def opportunities(
    request: Request,
    exchange: Exchange = None,
    base: Base = None,
    min_net_bps: float | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> PageRow[OpportunityRow]:
    """Newest first: the last 500 distinct ones that this process saw since it started, and no more.

    Paging ends there; a restart of the dashboard begins anew from what is still in the stream. What became of older
    opportunities: `/api/arbitrages` (traded; each holds its opportunity) and `/api/refusals/recent` (not traded).
    """
    found = page_after(
        snapshot_of(request).opportunities, lambda opportunity: opportunity.opportunity_id, cursor, limit=500
    )
    fitting = [
        opportunity
        for opportunity in found
        if base in (None, opportunity.base)
        and exchange in (None, opportunity.buy.exchange, opportunity.sell.exchange)
        and (min_net_bps is None or opportunity.net_bps >= min_net_bps)
    ][: limit + 1]
    return PageRow(
        items=[opportunity_row(opportunity) for opportunity in fitting[:limit]],
        next_cursor=next_cursor(fitting, lambda opportunity: opportunity.opportunity_id, limit),
    )
