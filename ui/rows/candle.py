"""The rows of candles: prices as decimal strings, times in microseconds UTC."""

from pydantic import BaseModel
from typing_extensions import TypedDict

from market.prices.candles import INTERVALS, CandleInterval, QuoteCandle, SpreadCandle
from store.server.page_reader import Page
from ui.rows.attribute import row_from


class CandleRow(TypedDict):
    """Mids of one market in its quote currency; `bid` and `ask` at the end of the candle. `quotes` arrived: 0 if the
    feed only confirmed the one before. `is_over`: nothing more comes to it."""

    start: int
    open: str
    high: str
    low: str
    close: str
    bid: str
    ask: str
    quotes: int
    is_over: bool


class SpreadCandleRow(TypedDict):
    """Gross spread in bps, of buying on one market and selling on the other; `samples`: at how many ends of the candles
    that it is made of both had a price."""

    start: int
    open: str
    high: str
    low: str
    close: str
    samples: int
    is_over: bool


class CandlePageRow(BaseModel):
    """`next_cursor` is null on the last page."""

    interval: CandleInterval
    items: list[CandleRow]
    next_cursor: str | None


class SpreadCandlePageRow(BaseModel):
    """`next_cursor` is null on the last page."""

    interval: CandleInterval
    items: list[SpreadCandleRow]
    next_cursor: str | None


def candle_page_row(page: Page[QuoteCandle], interval: CandleInterval, now: int) -> CandlePageRow:
    """Return the page; `now` is the market's time."""
    over = now - INTERVALS[interval]
    items = [row_from(CandleRow, one, is_over=one.start <= over) for one in page.items]
    return CandlePageRow(interval=interval, items=items, next_cursor=page.next_cursor)


def spread_candle_page_row(page: Page[SpreadCandle], interval: CandleInterval, now: int) -> SpreadCandlePageRow:
    """Return the page; `now` is the market's time."""
    over = now - INTERVALS[interval]
    items = [row_from(SpreadCandleRow, one, is_over=one.start <= over) for one in page.items]
    return SpreadCandlePageRow(interval=interval, items=items, next_cursor=page.next_cursor)
