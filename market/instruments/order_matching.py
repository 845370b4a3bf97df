"""How an order meets the other side of a book: level by level, up to its limit price and its amount. Pure.

Prices and amounts are in the caller's units: those of money in a paper account, whole ticks and lots in a simulated
exchange.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import TypeVar

from market.instruments.orders import Side

Number = TypeVar("Number", int, Decimal)
Offer = TypeVar("Offer")


def is_within_limit(side: Side, limit: Number, price: Number) -> bool:
    """Whether an order on `side` with that limit fills at `price`."""
    return price <= limit if side == "buy" else price >= limit


def filled_offers(
    side: Side, limit: Number, amount: Number, offers: Iterable[tuple[Offer, Number, Number]]
) -> Iterator[tuple[Offer, Number]]:
    """Each offer that fills a part of the order, with that part; `offers` are (offer, price, amount), best first."""
    for offer, price, offered in offers:
        if amount == 0 or not is_within_limit(side, limit, price):
            return
        filled = min(amount, offered)
        if filled > 0:
            yield offer, filled
            amount -= filled
