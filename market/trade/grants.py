"""The permission to post the order of one leg, as the bot of its exchange hears of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from market.trade.arbitrages import OPEN_STATES, Leg, TradeOfLegs


@dataclass(frozen=True, slots=True)
class Grant:
    """A leg in state `granted`, as it was granted."""

    arbitrage_id: str
    leg: Leg


def grants_in(arbitrages: Iterable[TradeOfLegs], exchange: str | None = None) -> list[Grant]:
    """Return the grants of all granted legs, at `exchange` if it is given."""
    return [
        Grant(one.arbitrage_id, leg)
        for one in arbitrages
        if one.state in OPEN_STATES
        for leg in one.legs
        if leg.state == "granted" and exchange in (None, leg.exchange)
    ]


def new_grants(before: TradeOfLegs | None, after: TradeOfLegs) -> list[Grant]:
    """Those that a step made."""
    known = set() if before is None else {grant.leg.client_order_id for grant in grants_in([before])}
    return [grant for grant in grants_in([after]) if grant.leg.client_order_id not in known]
