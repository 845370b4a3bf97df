"""GET: the signals of strategies other than arbitrage."""

from fastapi import APIRouter, Request
from typing_extensions import TypedDict

from market.trade.moving_average import AverageTrade
from ui.http.row_pages import Cursor, Limit, PageRow, page_row
from ui.rows.attribute import row_from
from ui.services.dashboard import dashboard_of

router = APIRouter(prefix="/strategies", tags=["strategies"])


class AverageOrderRow(TypedDict):
    """`arbitrage_id` leads to the order itself; `filled` in base, `cost` in quote currency."""

    arbitrage_id: str
    state: str
    reason: str | None
    filled: str
    cost: str


class AverageTradeRow(TypedDict):
    """A signal, with the columns of the original demo and the mean that was crossed; `order` is null if only signals
    are on."""

    trade_id: str
    exchange: str
    quote_region: str
    symbol: str
    timestamp: int
    trade_location: str
    trade_price: str
    trade_strategy: str
    trade_type: str
    average: str
    order: AverageOrderRow | None


@router.get("/ma/trades")
async def average_trades(request: Request, cursor: Cursor = None, limit: Limit = 50) -> PageRow[AverageTradeRow]:
    """Return crossings of the moving average, newest first."""
    return page_row(await dashboard_of(request.app).reader.average_trades(cursor, limit), average_trade_row)


def average_trade_row(trade: AverageTrade) -> AverageTradeRow:
    order = None if trade.order is None else row_from(AverageOrderRow, trade.order, arbitrage_id=trade.trade_id)
    return row_from(AverageTradeRow, trade, order=order)
