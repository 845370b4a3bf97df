"""Backtests: queue one, follow it, compare them, read their reports. Queueing and ending need a key."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from ui.api.download_routes import csv_download
from ui.http.problems import PROBLEM_RESPONSE, ProblemError, json_object
from ui.http.route_auth import Operator
from ui.http.row_pages import Cursor, Limit, PageRow, page_row
from ui.rows.attribute import row_from
from ui.rows.backtest import BacktestRow, BacktestTradeRow, TickSetRow, backtest_row
from ui.rows.equity import EquityPointRow, equity_point_rows
from ui.services.backtest import (
    MAX_WAITING,
    BacktestAsk,
    BacktestInvalidError,
    TooManyWaitingError,
    ask_backtest,
    cancel_or_remove,
)
from ui.services.backtest_trade_pages import BACKTEST_TRADES, all_trades, trade_page
from ui.services.dashboard import dashboard_of

router = APIRouter(tags=["backtests"])

REPORT_HEADERS = {
    # the report shows the tick set's own name: nothing in it may run, load, send or be framed
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; sandbox; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
POST_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The tick set, and the settings to override.",
        "content": {
            "application/json": {
                "schema": BacktestAsk.model_json_schema(),
                "example": {
                    "tick_set": "binance-btc",
                    "settings": {"min_net_bps": 7.5},
                    "latency_ms": 80,
                    "seed": 1,
                    "fee_tiers": {"kraken": "0:26,50000:24"},
                    "failed_percent": 0.5,
                },
            }
        },
    }
}


@router.get("/tick-sets")
async def tick_sets(request: Request) -> list[TickSetRow]:
    """Return the tick sets that a backtest can run on, by name. A new one appears within some seconds."""
    return [row_from(TickSetRow, one) for one in await dashboard_of(request.app).reader.backtests.tick_sets()]


@router.get("/backtests")
async def backtests(request: Request) -> list[BacktestRow]:
    """Return all stored backtests, newest first."""
    return [backtest_row(job) for job in await dashboard_of(request.app).reader.backtests.jobs()]


@router.post(
    "/backtests",
    status_code=201,
    responses=dict.fromkeys((401, 409, 422), PROBLEM_RESPONSE),
    openapi_extra=POST_BODY,
)
async def ask(request: Request, caller: Operator) -> JSONResponse:
    """Queue a backtest. The supervisor runs them one at a time, at lower priority than live trading. 409: too many
    are queued."""
    dashboard = dashboard_of(request.app)
    asked = json_object(await request.body(), "`tick_set`")
    try:
        job = await ask_backtest(dashboard, asked, caller, "rest")
    except BacktestInvalidError as invalid:
        raise ProblemError(422, f"Not queued. {invalid}.", {"errors": invalid.errors}) from None
    except TooManyWaitingError:
        raise ProblemError(409, f"Not queued: {MAX_WAITING} backtests are already queued.") from None
    return JSONResponse(backtest_row(job), 201, headers={"Location": f"/api/backtests/{job.job_id}"})


@router.get("/backtests/{backtest_id}", responses={404: PROBLEM_RESPONSE})
async def backtest(request: Request, backtest_id: str) -> BacktestRow:
    """Return the progress and results of a backtest."""
    job = await dashboard_of(request.app).reader.backtests.job(backtest_id)
    if job is None:
        raise _unknown(backtest_id)
    return backtest_row(job)


@router.get("/backtests/{backtest_id}/equity", responses={404: PROBLEM_RESPONSE})
async def equity(request: Request, backtest_id: str) -> list[EquityPointRow]:
    """Return net profit over the time of the ticks, thinned as in `/pnl/equity`; empty until the backtest is done."""
    job = await dashboard_of(request.app).reader.backtests.job(backtest_id)
    if job is None:
        raise _unknown(backtest_id)
    return equity_point_rows(() if job.figures is None else job.figures.equity)


@router.get("/backtests/{backtest_id}/trades", responses={404: PROBLEM_RESPONSE})
async def trades(
    request: Request, backtest_id: str, cursor: Cursor = None, limit: Limit = 50
) -> PageRow[BacktestTradeRow]:
    """Return the trades, newest first; empty until the backtest is done, and for one that an earlier version ran."""
    backtests = dashboard_of(request.app).reader.backtests
    if await backtests.job(backtest_id) is None:
        raise _unknown(backtest_id)
    page = await trade_page(backtests, backtest_id, cursor, limit)
    return page_row(page, lambda one: row_from(BacktestTradeRow, one))


@router.get(
    "/backtests/{backtest_id}/trades.csv",
    response_class=StreamingResponse,
    responses={404: PROBLEM_RESPONSE, 200: {"description": "The file.", "content": {"text/csv": {}}}},
)
async def trades_csv(request: Request, backtest_id: str) -> StreamingResponse:
    """Return all trades, oldest first; amounts as exact decimal strings, text safe in spreadsheets."""
    backtests = dashboard_of(request.app).reader.backtests
    if await backtests.job(backtest_id) is None:
        raise _unknown(backtest_id)
    return await csv_download(BACKTEST_TRADES, all_trades(backtests, backtest_id), backtest_id)


@router.get("/backtests/{backtest_id}/report", response_class=HTMLResponse, responses={404: PROBLEM_RESPONSE})
async def report(request: Request, backtest_id: str) -> HTMLResponse:
    """Return the report, a self-contained HTML page."""
    html = await dashboard_of(request.app).reader.backtests.report(backtest_id)
    if html is None:
        raise ProblemError(404, f"There is no report of a backtest {backtest_id}.")
    return HTMLResponse(html, headers=REPORT_HEADERS)


@router.delete(
    "/backtests/{backtest_id}",
    status_code=202,
    responses={204: {"description": "Removed"}, **dict.fromkeys((401, 404), PROBLEM_RESPONSE)},
)
async def end(request: Request, backtest_id: str, caller: Operator) -> Response:
    """Cancel a queued or running backtest (202, with its state); remove a finished one with its report (204)."""
    dashboard = dashboard_of(request.app)
    try:
        job = await cancel_or_remove(dashboard, backtest_id, caller, "rest")
    except KeyError:
        raise _unknown(backtest_id) from None
    if job is None:
        return Response(status_code=204)
    return JSONResponse(backtest_row(job), 202)


def _unknown(backtest_id: str) -> ProblemError:
    return ProblemError(404, f"There is no backtest {backtest_id}.")
