"""GET: what the store says – arbitrages, their fills, refusals, balances, P&L, feeds."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from market.arbitrages import ArbitrageState
from market.profit_groups import GroupedBy, profit_by
from ui.api.market import Base, Exchange, dashboard_of
from ui.api.paging import Cursor, Limit, PageRow
from ui.api.problems import ProblemError
from ui.profits import pnl_line_row, pnl_row
from ui.rows import ArbitrageRow, BalanceRowView, FeedRow, FillRow, PnlLineRow, PnlRow, ReasonRow, RefusalRow
from ui.timeline import ArbitrageDetailRow, arbitrage_detail_row
from ui.views import arbitrage_row, balance_row, feed_row, reason_rows, refusal_row

router = APIRouter(tags=["trades"])

FILLED_STATES: tuple[ArbitrageState, ...] = ("single_leg", "closed", "unwound", "held")


@router.get("/arbitrages")
async def arbitrages(
    request: Request,
    state: Annotated[list[ArbitrageState] | None, Query(description="Any of these; all where absent.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> PageRow[ArbitrageRow]:
    """Newest first."""
    page = await dashboard_of(request).reader.arbitrages(tuple(state or ()), cursor, limit)
    return PageRow(items=[arbitrage_row(arbitrage) for arbitrage in page.items], next_cursor=page.next_cursor)


@router.get("/arbitrages/{arbitrage_id}")
async def arbitrage(request: Request, arbitrage_id: str) -> ArbitrageDetailRow:
    """One arbitrage, with the time of every step and every decision; its id is the opportunity's."""
    found = await dashboard_of(request).reader.arbitrage(arbitrage_id)
    if found is None:
        raise ProblemError(404, f"There is no arbitrage {arbitrage_id}.")
    return arbitrage_detail_row(found)


@router.get("/trades")
async def trades(
    request: Request, exchange: Exchange = None, base: Base = None, cursor: Cursor = None, limit: Limit = 50
) -> PageRow[FillRow]:
    """Fills as the exchanges booked them, newest arbitrage first; `limit` counts arbitrages, so that none is cut."""
    page = await dashboard_of(request).reader.arbitrages(FILLED_STATES, cursor, limit)
    fills = [
        fill
        for arbitrage in page.items
        if base in (None, arbitrage.base)
        for leg in arbitrage_row(arbitrage)["legs"]
        if exchange in (None, leg["exchange"])
        for fill in leg["fills"]
    ]
    return PageRow(items=fills, next_cursor=page.next_cursor)


@router.get("/refusals")
async def refusals(request: Request) -> list[ReasonRow]:
    """How many opportunities were not traded, by the first reason; most frequent first."""
    reader = dashboard_of(request).reader
    return reason_rows(await reader.refusal_counts(), await reader.refused_profit())


@router.get("/refusals/recent")
async def recent_refusals(
    request: Request,
    reason: Annotated[str | None, Query(max_length=40)] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> PageRow[RefusalRow]:
    """The first of each pair and reason per second, newest first."""
    page = await dashboard_of(request).reader.refusals(reason, cursor, limit)
    return PageRow(items=[refusal_row(refusal) for refusal in page.items], next_cursor=page.next_cursor)


@router.get("/balances")
async def balances(request: Request, exchange: Exchange = None) -> list[BalanceRowView]:
    """What the bots may use and what open legs hold, per exchange and currency."""
    rows = await dashboard_of(request).reader.balance_rows()
    return [balance_row(row) for row in rows if exchange in (None, row.exchange)]


@router.get("/pnl")
async def pnl(
    request: Request,
    by: Annotated[
        GroupedBy | None,
        Query(description="A line for each exchange, asset or UTC day of the end."),
    ] = None,
) -> PnlRow | list[PnlLineRow]:
    """The session's profit and loss in its parts, which sum to `net`; lines sum to the whole to the last digit."""
    dashboard = dashboard_of(request)
    currency = dashboard.session.settlement_currency
    if by is not None:
        return [pnl_line_row(line) for line in profit_by(await dashboard.reader.profit_groups(currency), by)]
    profit = await dashboard.reader.profit(currency)
    return pnl_row(profit, await dashboard.reader.arbitrage_counts())


@router.get("/feeds")
async def feeds(request: Request, exchange: Exchange = None) -> list[FeedRow]:
    """State of each price feed."""
    dashboard = dashboard_of(request)
    session, states = dashboard.session, await dashboard.reader.feed_states()
    now = session.clock().now()
    seen = [state.as_seen(now, session.stale_after_ms) for state in states if exchange in (None, state.exchange)]
    return [feed_row(state) for state in seen]
