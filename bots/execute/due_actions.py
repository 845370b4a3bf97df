"""Derives from what is granted at an exchange what its bot has to do next. Stateless."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from bots.execute.posted_orders import PostedOrders
from market.trade.arbitrages import Leg, TradeOfLegs
from market.trade.grants import Grant
from market.trade.unwinding import Markets


@dataclass(frozen=True, slots=True)
class DueAction:
    """One action due on a leg: `execute` one that was granted to this process, or `resolve` one that may have been
    posted, by looking its order up."""

    what: Literal["execute", "resolve"]
    arbitrage_id: str
    leg: Leg


@dataclass(frozen=True, slots=True)
class Executing:
    """What one process executes."""

    exchange: str
    token: int
    """The token of its lease."""
    markets: Markets
    posted: PostedOrders = field(default_factory=PostedOrders)
    """The orders that it has begun to post."""


def due_actions(grants: Iterable[Grant], own: Executing) -> list[DueAction]:
    """Return the actions due for one bot; none for a leg whose result it has reported, or whose market is not in the
    session."""
    return [
        DueAction(_what(grant.leg, own), grant.arbitrage_id, grant.leg)
        for grant in grants
        if grant.leg.exchange == own.exchange
        and (grant.leg.exchange, grant.leg.symbol) in own.markets
        and not own.posted.is_reported(grant.leg.client_order_id)
    ]


def has_leg_at(arbitrages: Iterable[TradeOfLegs], exchange: str) -> bool:
    """Whether one of these has a leg on `exchange`, in whatever state."""
    return any(leg.exchange == exchange for arbitrage in arbitrages for leg in arbitrage.legs)


def _what(leg: Leg, own: Executing) -> Literal["execute", "resolve"]:
    is_mine = leg.token == own.token and leg.client_order_id not in own.posted
    return "execute" if is_mine else "resolve"
