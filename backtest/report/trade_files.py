"""The trades of a backtest: as rows, and as a file of them, CSV for people and JSON for the supervisor."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from decimal import Decimal

from pydantic import TypeAdapter

from market.money import text_of
from market.trade.arbitrages import Arbitrage
from store.records.backtest_requests import BacktestTrade

TRADES = TypeAdapter(tuple[BacktestTrade, ...])


def trade_rows(arbitrages: Iterable[Arbitrage]) -> tuple[BacktestTrade, ...]:
    """Return the arbitrages with at least one fill, in the order in which they began."""
    traded = (one for one in arbitrages if one.is_filled)
    return tuple(_row(number, one) for number, one in enumerate(traded, 1))


def trades_file(arbitrages: Iterable[Arbitrage], *, as_json: bool) -> bytes:
    rows = trade_rows(arbitrages)
    return TRADES.dump_json(rows) if as_json else _csv(rows)


def _row(number: int, arbitrage: Arbitrage) -> BacktestTrade:
    opportunity = arbitrage.opportunity
    return BacktestTrade(
        number=number,
        event_time=opportunity.event_time,
        base=arbitrage.base,
        bought_on=opportunity.buy.market_name,
        sold_on=opportunity.sell.market_name,
        amount=arbitrage.amount,
        net_bps=opportunity.net_bps,
        state=arbitrage.state,
        reason=arbitrage.reason,
        net=None if arbitrage.profit is None else arbitrage.profit.net,
        ended_at=arbitrage.times.get("ended"),
        fees=None if arbitrage.profit is None else arbitrage.profit.fees,
    )


def _csv(rows: Sequence[BacktestTrade]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([field.name for field in fields(BacktestTrade)])
    for row in rows:
        writer.writerow([_cell(value) for value in asdict(row).values()])
    return text.getvalue().encode()


def _cell(value: object) -> str:
    """Return the cell's text: empty if there is none; text that a spreadsheet would take for a formula is guarded."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return text_of(value)
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else text
