"""How far a balance may be from our books by rounding alone. Pure.

Exchanges book costs and fees rounded to units of their own, and if their fills do not say both, ours are estimates.
"""

from collections.abc import Iterable
from decimal import Decimal

from market.instruments.assets import is_currency
from market.instruments.orders import Fill, changes_of

WITHOUT_CENTS = frozenset({"JPY", "KRW", "VND", "CLP", "IDR"})
"""Currencies that exchanges book in whole units."""
_CENT, _SATOSHI = Decimal("0.01"), Decimal("0.00000001")


def smallest_unit(currency: str) -> Decimal:
    """Return what a booking in `currency` may be rounded by."""
    if currency in WITHOUT_CENTS:
        return Decimal(1)
    return _CENT if is_currency(currency) else _SATOSHI


def rounding_of(currency: str, fills: Iterable[Fill]) -> Decimal:
    """One unit for each of `fills` that moved `currency`; one at least."""
    count = sum(any(moved == currency for moved, _ in changes_of(fill, *_currencies(fill))) for fill in fills)
    return smallest_unit(currency) * max(1, count)


def _currencies(fill: Fill) -> tuple[str, str]:
    base, _, quote = fill.symbol.partition("/")
    return base, quote
