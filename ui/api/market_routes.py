"""GET: quotes and spreads from the streams."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from ui.examples.opportunity_examples import QUOTES, SPREADS
from ui.examples.trade_examples import shown
from ui.live.snapshot import LiveSnapshot
from ui.rows.market import QuoteRow, SpreadRow, quote_rows, spread_rows
from ui.rows.matrix import MatrixRow, matrix_row
from ui.services.dashboard import dashboard_of
from ui.services.session_markets import is_of_market

router = APIRouter(tags=["market"])

Base = Annotated[str | None, Query(max_length=20, description="Base asset, for example BTC.")]
Exchange = Annotated[str | None, Query(max_length=40, description="Exchange, on either side of a pair.")]


def snapshot_of(request: Request) -> LiveSnapshot:
    return dashboard_of(request.app).hub.live_state.snapshot()


@router.get("/quotes", responses=shown(example=QUOTES))
async def quotes(request: Request, exchange: Exchange = None, base: Base = None) -> list[QuoteRow]:
    """Return the latest quote of each market, FX included."""
    return [
        row for row in quote_rows(snapshot_of(request)) if is_of_market(base, exchange, row["base"], row["exchange"])
    ]


@router.get("/matrix")
async def matrix(request: Request, exchange: Exchange = None, base: Base = None) -> list[MatrixRow]:
    """Return every asset with its prices on each exchange and the pair that would bring most now; `exchange`: only
    assets that are quoted there."""
    lines = dashboard_of(request.app).hub.live_state.lines()
    return [
        matrix_row(line)
        for line in lines
        if is_of_market(base, exchange, line.base, *(price.exchange for price in line.prices))
    ]


@router.get("/spreads", responses=shown(example=SPREADS))
async def spreads(request: Request, exchange: Exchange = None, base: Base = None) -> list[SpreadRow]:
    """Return the spread matrix of the latest quotes, net of fees and FX, with the statistics of the last windows."""
    return [
        row
        for row in spread_rows(snapshot_of(request))
        if is_of_market(base, exchange, row["base"], row["buy_exchange"], row["sell_exchange"])
    ]
