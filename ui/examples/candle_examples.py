"""Example responses of candles and books, for the OpenAPI document."""

from ui.rows.book import BookRow, BookSideRow
from ui.rows.candle import CandlePageRow, CandleRow, SpreadCandlePageRow, SpreadCandleRow

CANDLES = CandlePageRow(
    interval="1m",
    items=[
        CandleRow(
            start=1_700_000_000_000_000 // 60_000_000 * 60_000_000,
            open="70000.8",
            high="70012.45",
            low="69998.1",
            close="70010.05",
            bid="70009.6",
            ask="70010.5",
            quotes=212,
            is_over=True,
        )
    ],
    next_cursor="1699999980000000",
).model_dump()
SPREAD_CANDLES = SpreadCandlePageRow(
    interval="1m",
    items=[
        SpreadCandleRow(
            start=1_700_000_000_000_000 // 60_000_000 * 60_000_000,
            open="31.4022",
            high="38.2001",
            low="-4.117",
            close="12.03",
            samples=60,
            is_over=True,
        )
    ],
    next_cursor=None,
).model_dump()
BOOK = BookRow(
    exchange="kraken",
    symbol="BTC/USD",
    base="BTC",
    quote_currency="USD",
    received_time=1_700_000_000_000_000,
    status="fresh",
    bids=BookSideRow(
        levels=[{"price": "70000.1", "amount": "0.8", "taken": "0.5"}],
        walk={
            "amount": "0.5",
            "filled": "0.5",
            "cost": "35000.05",
            "mean_price": "70000.1",
            "worst": "70000.1",
            "slippage_bps": "0",
        },
    ),
    asks=BookSideRow(
        levels=[
            {"price": "70001.5", "amount": "0.42", "taken": "0.42"},
            {"price": "70002", "amount": "1.1", "taken": "0.08"},
        ],
        walk={
            "amount": "0.5",
            "filled": "0.5",
            "cost": "35000.79",
            "mean_price": "70001.58",
            "worst": "70002",
            "slippage_bps": "0.0114",
        },
    ),
)
