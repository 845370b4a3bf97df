"""GET: the signals of strategies other than arbitrage."""

from fastapi import APIRouter, Request
from typing_extensions import TypedDict

from market.money import text_of
from market.trade.moving_average import AverageOrder, AverageTrade
from ui.api.market_routes import dashboard_of
from ui.http.row_pages import Cursor, Limit, PageRow

router = APIRouter(prefix="/strategies", tags=["strategies"])


class AverageOrderRow(TypedDict):
    """`arbitrage_id` leads to the order itself; `filled` in base, `cost` in quote currency."""

    arbitrage_id: str
    state: str
    reason: str | None
    filled: str
    cost: str


class AverageTradeRow(TypedDict):
    """A signal, with the columns of the original demo and the mean that was crossed; `order` is null for signals
    only."""

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
    """Crossings of the moving average, newest first."""
    page = await dashboard_of(request).reader.average_trades(cursor, limit)
    return PageRow(items=[average_trade_row(trade) for trade in page.items], next_cursor=page.next_cursor)


def average_trade_row(trade: AverageTrade) -> AverageTradeRow:
    return AverageTradeRow(
        trade_id=trade.trade_id,
        exchange=trade.exchange,
        quote_region=trade.quote_region,
        symbol=trade.symbol,
        timestamp=trade.timestamp,
        trade_location=trade.trade_location,
        trade_price=text_of(trade.trade_price),
        trade_strategy=trade.trade_strategy,
        trade_type=trade.trade_type,
        average=text_of(trade.average),
        order=None if trade.order is None else _order_row(trade.trade_id, trade.order),
    )


def _order_row(trade_id: str, order: AverageOrder) -> AverageOrderRow:
    return AverageOrderRow(
        arbitrage_id=trade_id,
        state=order.state,
        reason=order.reason,
        filled=text_of(order.filled),
        cost=text_of(order.cost),
    )
