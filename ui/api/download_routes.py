"""GET: all trades, or all arbitrages with their realised P&L, as one file that is written while it is sent."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from session.session import Session
from ui.api.trade_filters import Wanted
from ui.services.dashboard import dashboard_of
from ui.services.trade_downloads import ARBITRAGES, FILLS, DownloadTable, csv_parts, file_name, parquet_parts

router = APIRouter(tags=["downloads"])

CSV = "text/csv"
PARQUET = "application/vnd.apache.parquet"
Row = TypeVar("Row")


def _of(media_type: str) -> dict[int | str, dict[str, Any]]:
    """Return the response type for the OpenAPI document."""
    schema = {"type": "string"} if media_type == CSV else {"type": "string", "format": "binary"}
    return {200: {"description": "The file.", "content": {media_type: {"schema": schema}}}}


@router.get("/trades.csv", response_class=StreamingResponse, responses=_of(CSV))
async def trades_csv(request: Request, wanted: Wanted) -> StreamingResponse:
    """Return all fills, oldest first; amounts as exact decimal strings, text safe in spreadsheets."""
    dashboard = dashboard_of(request.app)
    return await csv_download(FILLS, dashboard.reader.history.all_fills(wanted), dashboard.session.session_id)


@router.get("/trades.parquet", response_class=StreamingResponse, responses=_of(PARQUET))
async def trades_parquet(request: Request, wanted: Wanted) -> StreamingResponse:
    """Return all fills, oldest first; prices, amounts and fees as strings with all their digits."""
    dashboard = dashboard_of(request.app)
    return await _parquet(FILLS, dashboard.reader.history.all_fills(wanted), dashboard.session)


@router.get("/arbitrages.csv", response_class=StreamingResponse, responses=_of(CSV))
async def arbitrages_csv(request: Request, wanted: Wanted) -> StreamingResponse:
    """Return all arbitrages, oldest first, each with its P&L attribution; their sums equal `/pnl`."""
    dashboard = dashboard_of(request.app)
    return await csv_download(ARBITRAGES, dashboard.reader.history.all_arbitrages(wanted), dashboard.session.session_id)


@router.get("/arbitrages.parquet", response_class=StreamingResponse, responses=_of(PARQUET))
async def arbitrages_parquet(request: Request, wanted: Wanted) -> StreamingResponse:
    """Return all arbitrages, oldest first; the P&L attribution as decimal128(38, 8)."""
    dashboard = dashboard_of(request.app)
    return await _parquet(ARBITRAGES, dashboard.reader.history.all_arbitrages(wanted), dashboard.session)


async def csv_download(table: DownloadTable[Row], lists: AsyncGenerator[list[Row]], name: str) -> StreamingResponse:
    """Return the rows as a CSV file; `name` is that of the session or backtest."""
    begun = await _begun(lists)
    return _sent(csv_parts(table, begun), f"{CSV}; charset=utf-8", file_name(table.name, name, "csv"))


async def _parquet(table: DownloadTable[Row], lists: AsyncGenerator[list[Row]], session: Session) -> StreamingResponse:
    metadata = {"session_id": session.session_id, "settlement_currency": session.settlement_currency}
    begun = await _begun(lists)
    return _sent(parquet_parts(table, begun, metadata), PARQUET, file_name(table.name, session.session_id, "parquet"))


async def _begun(lists: AsyncGenerator[list[Row]]) -> AsyncIterator[Sequence[Row]]:
    """Read the first rows before the response starts, so that a store error is still a problem response."""
    first = await anext(lists, None)

    async def all_lists() -> AsyncGenerator[Sequence[Row]]:
        if first is not None:
            yield first
            async for rows in lists:
                yield rows

    return all_lists()


def _sent(parts: AsyncGenerator[bytes], media_type: str, name: str) -> StreamingResponse:
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return StreamingResponse(parts, media_type=media_type, headers=headers)
