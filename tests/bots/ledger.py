"""What balances must be by the fills, to the last digit."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from market.instruments.orders import Fill
from market.money import ZERO

Balances = Mapping[str, Mapping[str, Decimal]]


def balances_by_fills(before: Balances, fills: Iterable[Fill]) -> dict[str, dict[str, Decimal]]:
    """`before` + fills − fees, per exchange and currency."""
    after = {exchange: dict(row) for exchange, row in before.items()}
    for fill in fills:
        row, (base, quote_currency) = after[fill.exchange], fill.symbol.split("/")
        sign = 1 if fill.side == "buy" else -1
        row[base] = row.get(base, ZERO) + sign * fill.amount
        row[quote_currency] = row.get(quote_currency, ZERO) - sign * fill.cost
        row[fill.fee_currency] = row.get(fill.fee_currency, ZERO) - fill.fee
    return after
