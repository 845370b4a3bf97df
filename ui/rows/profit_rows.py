"""From profit in its parts to the rows that REST and WebSocket show."""

from collections.abc import Mapping

from market.accounting.profit_groups import ProfitLine
from market.money import text_of
from market.trade.arbitrages import ProfitAndLoss
from ui.rows.api_rows import PnlLineRow, PnlRow, ProfitRow


def profit_row(profit: ProfitAndLoss) -> ProfitRow:
    return ProfitRow(
        currency=profit.currency,
        gross=text_of(profit.gross),
        latency_decay=text_of(profit.latency_decay),
        slippage=text_of(profit.slippage),
        fees=text_of(profit.fees),
        fx=text_of(profit.fx),
        unwinding=text_of(profit.unwinding),
        net=text_of(profit.net),
    )


def pnl_row(profit: ProfitAndLoss, arbitrages: Mapping[str, int]) -> PnlRow:
    """`arbitrages`: state → how many."""
    return PnlRow(**profit_row(profit), arbitrages=dict(arbitrages))


def pnl_line_row(line: ProfitLine) -> PnlLineRow:
    return PnlLineRow(name=line.name, arbitrages=line.arbitrages, **profit_row(line.profit))
