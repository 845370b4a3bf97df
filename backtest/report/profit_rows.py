"""Profit and loss as rows of a backtest's JSON."""

from backtest.result.profit_breakdown import BreakdownLine
from market.money import text_of
from market.trade.arbitrages import ProfitAndLoss


def profit_row(profit: ProfitAndLoss) -> dict[str, str]:
    """Return its currency and its parts."""
    return {"currency": profit.currency} | {part: text_of(amount) for part, amount in profit.parts.items()}


def amounts_row(line: BreakdownLine) -> dict[str, object]:
    """Return what one kind of trades has in sum."""
    return {
        "trades": line.trades,
        "turnover": text_of(line.turnover),
        "fees": text_of(line.fees),
        "net": text_of(line.net),
    }
