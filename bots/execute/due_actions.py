"""Derives from the open arbitrages in the store what a bot has to do next. Stateless."""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Literal

from market.trade.arbitrages import OPEN_STATES, Arbitrage, Leg
from market.trade.leg_planning import Markets


@dataclass(frozen=True, slots=True)
class DueAction:
    """One action due on a leg: `execute` one that was granted to this process, `resolve` one that may have been posted
    by looking it up, `grant` a reserved one (on any exchange where it is too late: then it ends), `settle` one that
    ended without its next step, `abandon` one whose market is not in this session."""

    what: Literal["execute", "resolve", "grant", "settle", "abandon"]
    arbitrage_id: str
    leg: Leg


@dataclass(frozen=True, slots=True)
class Executing:
    """What one process executes."""

    exchange: str
    token: int
    """Of its lease."""
    markets: Markets
    posted: Container[str] = frozenset()
    """Client order ids of the orders that it has begun to post."""


def due_actions(arbitrages: Iterable[Arbitrage], own: Executing, now: int) -> list[DueAction]:
    """The actions due for one bot; `now` is the store's, microseconds."""
    return [
        due
        for arbitrage in arbitrages
        if arbitrage.state in OPEN_STATES
        for leg in arbitrage.legs
        if (due := _due(arbitrage, leg, own, now)) is not None
    ]


def has_leg_at(arbitrages: Iterable[Arbitrage], exchange: str) -> bool:
    """Whether one of these has a leg on `exchange`, in whatever state."""
    return any(leg.exchange == exchange for arbitrage in arbitrages for leg in arbitrage.legs)


def is_in_flight_at(arbitrages: Iterable[Arbitrage], exchange: str) -> bool:
    """Whether one of these has a leg on `exchange` that has not ended: only the account there can look it up."""
    return any(leg.exchange == exchange and not leg.is_final for one in arbitrages for leg in one.legs)


def _due(arbitrage: Arbitrage, leg: Leg, own: Executing, now: int) -> DueAction | None:
    """`settle` is due where a hold was not released, or all legs have ended and the arbitrage has not.

    Legs of other exchanges are left to their bots until `send_by`; only the exchange's own bot can look an order up.
    """
    is_unsettled = leg.is_final and (leg.held != 0 or all(one.is_final for one in arbitrage.legs))
    is_late = now > arbitrage.send_by
    identity = arbitrage.arbitrage_id
    if (leg.exchange, leg.symbol) not in own.markets:
        return DueAction("abandon", identity, leg) if is_late and (is_unsettled or not leg.is_final) else None
    is_own = leg.exchange == own.exchange
    if is_unsettled:
        return DueAction("settle", identity, leg) if is_own or is_late else None
    if leg.state == "reserved":
        return DueAction("grant", identity, leg) if is_own or is_late else None
    if leg.state != "granted" or not is_own:
        return None
    is_mine = leg.token == own.token and leg.client_order_id not in own.posted
    return DueAction("execute" if is_mine else "resolve", identity, leg)
