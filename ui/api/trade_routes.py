"""GET: arbitrages, trades on cycles, fills, rejections, balances, P&L and feeds from the store."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from market.accounting.profit_groups import GroupedBy, profit_by
from market.instruments.markets import base_and_quote
from market.trade.arbitrages import Arbitrage
from ui.api.download_routes import router as downloads
from ui.api.market_routes import Base, Exchange
from ui.api.trade_filters import ArbitrageSort, FillSort, State, Wanted, order_of
from ui.desk.closing import ConfirmedClosing, NotClosedError, close_now, closing_of
from ui.desk.decisions import decision_row
from ui.examples.trade_examples import EQUITY_EXAMPLE, PNL_EXAMPLE, TRADES_EXAMPLE
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Operator
from ui.http.row_pages import Cursor, Limit, PageRow, page_row
from ui.live.session_feeds import feeds_of
from ui.rows.arbitrage import (
    ArbitrageRow,
    BalanceRowView,
    CycleRejectionRow,
    CycleTradeRow,
    PnlLineRow,
    PnlRow,
    ReasonRow,
    RejectionRow,
    arbitrage_row,
    balance_row,
    cycle_trade_row,
    pnl_line_row,
    pnl_row,
    reason_rows,
)
from ui.rows.arbitrage_timeline import ArbitrageDetailRow, arbitrage_detail_row
from ui.rows.attribute import row_from
from ui.rows.decision import ClosingRow, DecisionRow, closing_row, not_closed_row
from ui.rows.equity import EquityRow, equity_row
from ui.rows.fill import AverageSumRow, TradeRow, average_sum_rows, trade_row
from ui.rows.market import FeedRow
from ui.rows.performance import PerformanceRow, performance_row
from ui.services.dashboard import dashboard_of
from ui.services.opportunity import rejection_sums
from ui.services.session_markets import is_of_market
from ui.services.settings import SettingsMissingError
from ui.services.trading_days import trading_days

router = APIRouter(tags=["trades"])
router.include_router(downloads)

CycleExchange = Annotated[str | None, Query(alias="exchange", max_length=40, description="Of any of its legs.")]
AtExchange = Annotated[str | None, Query(alias="exchange", max_length=40, description="Of any of its orders.")]


@router.get("/arbitrages")
async def arbitrages(
    request: Request, wanted: Wanted, cursor: Cursor = None, limit: Limit = 50, sort: ArbitrageSort = None
) -> PageRow[ArbitrageRow]:
    """Return the arbitrages, by `sort`, else newest reservation first. A cursor is of the order it came from."""
    history = dashboard_of(request.app).reader.history
    return page_row(await history.arbitrages(wanted, cursor, limit, order_of(sort)), arbitrage_row)


@router.get("/cycles")
async def cycles(
    request: Request, exchange: AtExchange = None, state: State = None, cursor: Cursor = None, limit: Limit = 50
) -> PageRow[CycleTradeRow]:
    """Return the trades on cycles, newest reservation first; none in a session without `[cycles]`."""
    reader = dashboard_of(request.app).reader
    return page_row(await reader.cycle_trades(exchange, state or (), cursor, limit), cycle_trade_row)


@router.get("/arbitrages/{arbitrage_id}", responses={404: PROBLEM_RESPONSE})
async def arbitrage(request: Request, arbitrage_id: str) -> ArbitrageDetailRow:
    """Return one arbitrage, with the time of every step and every decision; its id is the opportunity's."""
    return arbitrage_detail_row(await _found(request, arbitrage_id))


@router.get("/arbitrages/{arbitrage_id}/decision", responses={404: PROBLEM_RESPONSE})
async def decision(request: Request, arbitrage_id: str) -> DecisionRow:
    """Return what an arbitrage was decided on: every check with its value and limit, the settings in force, and both
    books with the orders walked through them."""
    return await decision_row(dashboard_of(request.app).reader, await _found(request, arbitrage_id))


@router.get("/arbitrages/{arbitrage_id}/close", responses={404: PROBLEM_RESPONSE})
async def closing(request: Request, arbitrage_id: str) -> ClosingRow:
    """Return what *Close now* would order for what is left of an arbitrage, or why it cannot be closed."""
    dashboard = dashboard_of(request.app)
    try:
        return closing_row(await closing_of(dashboard, await _found(request, arbitrage_id)), None)
    except NotClosedError as reason:
        return not_closed_row(str(reason))


@router.post(
    "/arbitrages/{arbitrage_id}/close", status_code=202, responses=dict.fromkeys((401, 404, 409), PROBLEM_RESPONSE)
)
async def close(
    request: Request, arbitrage_id: str, caller: Operator, confirmed: ConfirmedClosing | None = None
) -> ClosingRow:
    """Order that what is left of a residual arbitrage, or of one with an open leg, be sold or bought back now, once:
    the bots carry it out within seconds, as soon as no order of it is under way, within `flatten_limit_bps` of the
    price of now. With what a person confirmed, of what GET answered: no more than that, and within the same of its
    price if that is the better one. 409: it cannot be closed, and why."""
    dashboard = dashboard_of(request.app)
    try:
        ordered, settings = await close_now(dashboard, await _found(request, arbitrage_id), caller, confirmed)
    except (NotClosedError, SettingsMissingError) as reason:
        raise ProblemError(409, str(reason) or "There are no settings yet.") from None
    return closing_row(ordered, settings.version)


async def _found(request: Request, arbitrage_id: str) -> Arbitrage:
    """Raise ProblemError 404."""
    found = await dashboard_of(request.app).reader.arbitrage(arbitrage_id)
    if found is None:
        raise ProblemError(404, f"There is no arbitrage {arbitrage_id}.")
    return found


@router.get("/trades", responses=TRADES_EXAMPLE)
async def trades(
    request: Request, wanted: Wanted, cursor: Cursor = None, limit: Limit = 50, sort: FillSort = None
) -> PageRow[TradeRow]:
    """Return the fills as the exchanges booked them, by `sort`, else newest first; those of one arbitrage may have
    others between them. `net` is the whole arbitrage's."""
    history = dashboard_of(request.app).reader.history
    return page_row(await history.fills(wanted, cursor, limit, order_of(sort)), trade_row)


@router.get("/rejections")
async def rejections(request: Request, base: Base = None, exchange: Exchange = None) -> list[ReasonRow]:
    """Return the number of rejected opportunities by the first failed check, most frequent first."""
    sums = await rejection_sums(dashboard_of(request.app), base, exchange)
    return reason_rows(sums.counts, sums.episodes, sums.missed_profit)


@router.get("/rejections/recent")
async def recent_rejections(
    request: Request,
    reason: Annotated[str | None, Query(max_length=40)] = None,
    base: Base = None,
    exchange: Exchange = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> PageRow[RejectionRow]:
    """Return the first rejection per pair, reason and second, newest first."""
    return page_row(
        await dashboard_of(request.app).reader.rejections(reason, cursor, limit, base, exchange),
        lambda one: row_from(RejectionRow, one),
    )


@router.get("/rejections/cycles")
async def cycle_rejections(
    request: Request,
    reason: Annotated[str | None, Query(max_length=40)] = None,
    exchange: CycleExchange = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> PageRow[CycleRejectionRow]:
    """Return the first rejection per cycle, reason and minute, newest first, with the figures of the check."""
    found = await dashboard_of(request.app).reader.cycle_rejections(reason, exchange, cursor, limit)
    return page_row(found, lambda one: row_from(CycleRejectionRow, one))


@router.get("/balances")
async def balances(request: Request, base: Base = None, exchange: Exchange = None) -> list[BalanceRowView]:
    """Return free and held balances per exchange and currency; `base`: of that asset only."""
    rows = await dashboard_of(request.app).reader.balances.rows()
    return [balance_row(row) for row in rows if is_of_market(base, exchange, row.currency, row.exchange)]


@router.get("/pnl", responses=PNL_EXAMPLE)
async def pnl(
    request: Request,
    by: Annotated[
        GroupedBy | None,
        Query(description="One line per exchange, asset, pair of exchanges, UTC day of the end, or strategy."),
    ] = None,
) -> PnlRow | list[PnlLineRow]:
    """Return the session's realised P&L and its attribution, which sums to `net`; the lines sum to the total to the
    last digit."""
    dashboard = dashboard_of(request.app)
    currency = dashboard.session.settlement_currency
    if by is not None:
        return [pnl_line_row(line) for line in profit_by(await dashboard.reader.profit_groups(currency), by)]
    totals = await dashboard.reader.totals(currency)
    return pnl_row(totals.profit, totals.arbitrages)


@router.get("/pnl/equity", responses=EQUITY_EXAMPLE)
async def equity(request: Request) -> EquityRow:
    """Return net profit summed in the order in which arbitrages ended, with its drawdowns; `net` is that of `/pnl`."""
    dashboard = dashboard_of(request.app)
    currency = dashboard.session.settlement_currency
    return equity_row(await dashboard.reader.history.equity(currency), currency)


@router.get("/pnl/performance")
async def performance(request: Request) -> PerformanceRow:
    """Return Sharpe, Sortino and Calmar ratio of whole UTC days, profit factor, expectancy, and net profit by day, hour
    and weekday (UTC) of the end. By exchange, asset, pair and strategy: `/pnl?by=`."""
    dashboard = dashboard_of(request.app)
    reader, currency = dashboard.reader, dashboard.session.settlement_currency
    equity = await reader.history.equity(currency)
    days = trading_days(dashboard.session, await reader.profit_groups(currency))
    return performance_row(currency, await reader.hour_sums(currency), days, equity.deepest.depth)


@router.get("/pnl/moving-average")
async def moving_average(request: Request) -> list[AverageSumRow]:
    """Return amounts bought and sold by the moving average's orders, by market; their costs are in
    `/pnl?by=strategy`."""
    return average_sum_rows(await dashboard_of(request.app).reader.history.average_sums())


@router.get("/feeds")
async def feeds(request: Request, base: Base = None, exchange: Exchange = None) -> list[FeedRow]:
    """Return the state of each price feed of this session."""
    dashboard = dashboard_of(request.app)
    session, states = dashboard.session, await dashboard.reader.feed_states()
    seen = feeds_of(session, dashboard.hub.settings, states, session.clock().now())
    return [
        row_from(FeedRow, state)
        for state in seen
        if is_of_market(
            base, exchange, base_and_quote(state.exchange, state.symbol, session.markets)[0], state.exchange
        )
    ]
