"""The trades of a backtest that is done: by pages for REST and for the page, whole as a file."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from typing_extensions import TypedDict

from market.money import text_of
from session.backtest_requests import BacktestTrade
from store.errors import CursorError
from store.store_port import Backtests
from ui.services.trade_downloads import Column, DownloadTable

LIST_TRADES = 500
"""Read together for a file."""

BACKTEST_TRADES: DownloadTable[BacktestTrade] = DownloadTable(
    "backtest",
    (
        Column("number", "number", lambda one: one.number),
        Column("event_time", "time", lambda one: one.event_time),
        Column("base", "text", lambda one: one.base),
        Column("bought_on", "text", lambda one: one.bought_on),
        Column("sold_on", "text", lambda one: one.sold_on),
        Column("amount", "amount", lambda one: one.amount),
        Column("net_bps", "number", lambda one: one.net_bps),
        Column("state", "text", lambda one: one.state),
        Column("reason", "text", lambda one: one.reason),
        Column("net", "amount", lambda one: one.net),
        Column("ended_at", "time", lambda one: one.ended_at),
    ),
)


class BacktestTradeRow(TypedDict):
    """`number` from 1, in the order in which they began; money as decimal strings, times in microseconds UTC."""

    number: int
    event_time: int
    base: str
    bought_on: str
    sold_on: str
    amount: str
    net_bps: float
    state: str
    reason: str | None
    net: str | None
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class TradePage:
    """Newest first."""

    trades: list[BacktestTrade]
    next_cursor: str | None


async def trade_page(backtests: Backtests, job_id: str, cursor: str | None, limit: int) -> TradePage:
    """Raises CursorError, StoreUnavailableError."""
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise CursorError
    found = await backtests.trades(job_id, None if cursor is None else int(cursor), limit)
    is_more = len(found) == limit and found[-1].number > 1
    return TradePage(found, str(found[-1].number) if is_more else None)


async def all_trades(backtests: Backtests, job_id: str) -> AsyncGenerator[list[BacktestTrade]]:
    """Oldest first, a list at a time."""
    last = LIST_TRADES
    while found := await backtests.trades(job_id, last + 1, LIST_TRADES):
        if found[0].number <= last - LIST_TRADES:
            return
        yield [one for one in reversed(found) if one.number > last - LIST_TRADES]
        last += LIST_TRADES


def backtest_trade_row(one: BacktestTrade) -> BacktestTradeRow:
    return BacktestTradeRow(
        number=one.number,
        event_time=one.event_time,
        base=one.base,
        bought_on=one.bought_on,
        sold_on=one.sold_on,
        amount=text_of(one.amount),
        net_bps=one.net_bps,
        state=one.state,
        reason=one.reason,
        net=None if one.net is None else text_of(one.net),
        ended_at=one.ended_at,
    )
