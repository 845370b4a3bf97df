"""What an account must own after its fills, to the last digit."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Protocol

from market.instruments.orders import FillLike


class Booked(FillLike, Protocol):
    """A fill: as the exchange keeps it, or as an account reports it."""

    @property
    def symbol(self) -> str: ...


def balances_after(before: dict[str, Decimal], fills: Iterable[Booked]) -> dict[str, Decimal]:
    """Return what must be left, to the last digit."""
    after = dict(before)
    for fill in fills:
        base, quote = fill.symbol.split("/")
        sign = 1 if fill.side == "buy" else -1
        after[base] += sign * fill.amount
        after[quote] -= sign * fill.cost
        after[fill.fee_currency] -= fill.fee
    return after
