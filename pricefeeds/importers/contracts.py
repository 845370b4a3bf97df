"""Amounts that are counted in contracts, as amounts in base."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from market.money import ZERO, decimal_of, decimal_of_whole, floor_to_step, text_of

COIN_M = "binancecoinm"
"""Its contracts are worth 100 dollars for BTC, 10 for all else."""
_STEP = Decimal("0.00000001")


def base_amounts(exchange: str, symbols: Iterable[str], amounts: Any, prices: Any) -> Any:
    """A column of strings: contracts are reckoned at the row's price, floored to eight decimals; others as they are."""
    if exchange != COIN_M:
        return amounts
    rows = zip(symbols, amounts.to_pylist(), prices.to_pylist(), strict=False)
    return pa.array([_in_base(symbol, str(amount), str(price)) for symbol, amount, price in rows], pa.string())


def _in_base(symbol: str, contracts: str, price: str) -> str:
    """What is no number stays what it is: its row is rejected later."""
    value = decimal_of_whole(100 if symbol.startswith("BTC/") else 10)
    try:
        at = decimal_of(price)
        return text_of(floor_to_step(decimal_of(contracts) * value / at, _STEP)) if at > ZERO else contracts
    except ValueError:
        return contracts
