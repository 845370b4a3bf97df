"""Fills and the moving average's sums as rows: one set of functions for REST and for the page."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from typing_extensions import TypedDict

from market.money import ZERO, text_of
from store.aggregates.average_sums import AverageSum
from store.queries.trade_history import BookedFill
from ui.rows.arbitrage import FillRow, fill_row
from ui.rows.attribute import row_from


class TradeRow(FillRow):
    """One execution and its role; `role` is empty until the arbitrage has recorded the fill. `state`, `outcome` and
    `net` (settlement currency) are the arbitrage's, or those of the trade on a cycle; then `strategy` is `cycle`."""

    base: str
    state: str
    outcome: str
    strategy: str
    net: str | None


class AverageSumRow(TypedDict):
    """Sums of the moving average's orders in one market; `bought` and `sold` in base, the rest in quote currency.
    `cash` = received − spent; `fees`: currency → amount. The value of the residual base (`left`) is not included."""

    exchange: str
    symbol: str
    fills: int
    bought: str
    spent: str
    sold: str
    received: str
    left: str
    cash: str
    fees: dict[str, str]


@dataclass(slots=True)
class _Sums:
    fills: int = 0
    amounts: dict[str, Decimal] = field(default_factory=dict)
    costs: dict[str, Decimal] = field(default_factory=dict)
    fees: dict[str, Decimal] = field(default_factory=dict)


def trade_row(booked: BookedFill) -> TradeRow:
    return row_from(TradeRow, booked, **fill_row(booked.arbitrage_id, booked.role, booked.fill))


def average_sum_rows(sums: Iterable[AverageSum]) -> list[AverageSumRow]:
    """Return the rows, by market."""
    markets: dict[tuple[str, str], _Sums] = {}
    for one in sums:
        known = markets.setdefault((one.exchange, one.symbol), _Sums())
        known.fills += one.fills
        known.amounts[one.side] = known.amounts.get(one.side, ZERO) + one.amount
        known.costs[one.side] = known.costs.get(one.side, ZERO) + one.cost
        known.fees[one.fee_currency] = known.fees.get(one.fee_currency, ZERO) + one.fee
    return [_average_sum_row(*market, known) for market, known in sorted(markets.items())]


def _average_sum_row(exchange: str, symbol: str, sums: _Sums) -> AverageSumRow:
    bought, sold = (sums.amounts.get(side, ZERO) for side in ("buy", "sell"))
    spent, received = (sums.costs.get(side, ZERO) for side in ("buy", "sell"))
    return AverageSumRow(
        exchange=exchange,
        symbol=symbol,
        fills=sums.fills,
        bought=text_of(bought),
        spent=text_of(spent),
        sold=text_of(sold),
        received=text_of(received),
        left=text_of(bought - sold),
        cash=text_of(received - spent),
        fees={currency: text_of(fee) for currency, fee in sorted(sums.fees.items())},
    )
