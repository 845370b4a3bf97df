"""The trades of a finished backtest: in pages for REST and for the page, all of them as a file."""

from collections.abc import AsyncGenerator

from store.errors import CursorError
from store.ports.backtests import Backtests
from store.records.backtest_requests import BacktestTrade
from store.server.page_reader import Page
from ui.services.trade_downloads import Column, DownloadTable

LIST_TRADES = 500
"""Trades that are read together for a file."""

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
        Column("fees", "amount", lambda one: one.fees),
    ),
)


async def trade_page(backtests: Backtests, job_id: str, cursor: str | None, limit: int) -> Page[BacktestTrade]:
    """Return a page, newest first. Raises CursorError, StoreUnavailableError."""
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise CursorError
    found = await backtests.trades(job_id, None if cursor is None else int(cursor), limit)
    is_more = len(found) == limit and found[-1].number > 1
    return Page(tuple(found), str(found[-1].number) if is_more else None)


async def all_trades(backtests: Backtests, job_id: str) -> AsyncGenerator[list[BacktestTrade]]:
    """Yield the trades, oldest first, a list at a time."""
    last = LIST_TRADES
    while found := await backtests.trades(job_id, last + 1, LIST_TRADES):
        if found[0].number <= last - LIST_TRADES:
            return
        yield [one for one in reversed(found) if one.number > last - LIST_TRADES]
        last += LIST_TRADES
