"""One order at a time, where an exchange knows no client ids: two like orders in flight could not be told apart."""

from market.arbitrages import Leg
from market.opportunities import Opportunity
from market.orders import Side

WITHOUT_CLIENT_IDS = frozenset({"bitflyer"})
"""Exchanges that find an order only by what it says and when it was sent."""

_SIDES: tuple[Side, ...] = ("buy", "sell")


def flies_alone(leg: Leg) -> bool:
    """Whether at most one leg of its symbol and side may be in flight."""
    return leg.exchange in WITHOUT_CLIENT_IDS


def flight_key(leg: Leg) -> str:
    return _key(leg.exchange, leg.symbol, leg.side)


def flight_keys(opportunity: Opportunity) -> tuple[str, ...]:
    """Of all legs that it may come to have, unwinding ones included."""
    return tuple(
        _key(one.exchange, one.symbol, side)
        for one in (opportunity.buy, opportunity.sell)
        if one.exchange in WITHOUT_CLIENT_IDS
        for side in _SIDES
    )


def flight_of(arbitrage_id: str, leg: Leg) -> str:
    """Who has the claim."""
    return f"{arbitrage_id}:{leg.role}"


def _key(exchange: str, symbol: str, side: Side) -> str:
    return f"{exchange}|{symbol}|{side}"
