"""Derives from the open arbitrages in the store what a bot has to do next. Stateless."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from market.trade.arbitrages import Arbitrage, Leg
from market.trade.leg_planning import Markets


@dataclass(frozen=True, slots=True)
class DueAction:
    """One action due on a leg: `execute` a reserved one, `resolve` a sent one by looking it up, `settle` one that ended
    without its next step. On any exchange: `lapse` one that was not sent in time, `abandon` one whose market is not in
    this session."""

    what: Literal["execute", "resolve", "settle", "lapse", "abandon"]
    arbitrage_id: str
    leg: Leg


def expired_awaiting_second_leg(arbitrages: Iterable[Arbitrage], now: int) -> list[Arbitrage]:
    """Reservations past `reserve_by` without a second leg; `now` is the store's, microseconds."""
    return [one for one in arbitrages if one.state == "awaiting_second_leg" and now > one.reserve_by]


def due_actions(arbitrages: Iterable[Arbitrage], exchange: str, markets: Markets, now: int) -> list[DueAction]:
    """The actions due for the bot of `exchange`; `now` is the store's, microseconds."""
    return [
        due
        for arbitrage in arbitrages
        if arbitrage.state in ("reserved", "single_leg")
        for leg in arbitrage.legs
        if (due := _due(arbitrage, leg, exchange, markets, now)) is not None
    ]


def is_open_at(arbitrages: Iterable[Arbitrage], exchange: str) -> bool:
    """Whether one of these has, or may get, an order on `exchange`."""
    return any(exchange in _exchanges_of(arbitrage) for arbitrage in arbitrages)


def has_leg_at(arbitrages: Iterable[Arbitrage], exchange: str) -> bool:
    """Whether one of these has a leg on `exchange`, in whatever state; a missing second leg does not count."""
    return any(leg.exchange == exchange for arbitrage in arbitrages for leg in arbitrage.legs)


def is_in_flight_at(arbitrages: Iterable[Arbitrage], exchange: str) -> bool:
    """Whether one of these has a leg on `exchange` that has not ended: only the account there can look it up."""
    return any(leg.exchange == exchange and not leg.is_final for one in arbitrages for leg in one.legs)


def _exchanges_of(arbitrage: Arbitrage) -> set[str]:
    """Exchanges of its legs, and of the second leg that it may still get."""
    exchanges = {leg.exchange for leg in arbitrage.legs}
    if arbitrage.state == "awaiting_second_leg":
        exchanges |= {arbitrage.opportunity.buy.exchange, arbitrage.opportunity.sell.exchange}
    return exchanges


def _due(arbitrage: Arbitrage, leg: Leg, exchange: str, markets: Markets, now: int) -> DueAction | None:
    """`settle` is due where a hold was not released, or all legs have ended and the arbitrage has not.

    Legs of other exchanges are left to their bots until `send_by`; only the exchange's own bot can look an order up.
    """
    is_unsettled = leg.is_final and (leg.held != 0 or all(one.is_final for one in arbitrage.legs))
    is_late = now > arbitrage.send_by
    identity = arbitrage.arbitrage_id
    if (leg.exchange, leg.symbol) not in markets:
        return DueAction("abandon", identity, leg) if is_late and (is_unsettled or not leg.is_final) else None
    is_own = leg.exchange == exchange
    if is_unsettled:
        return DueAction("settle", identity, leg) if is_own or is_late else None
    if leg.state == "reserved":
        # also our own legs: while the exchange rejects the account, nothing is executed
        return DueAction("lapse", identity, leg) if is_late else DueAction("execute", identity, leg) if is_own else None
    return DueAction("resolve", identity, leg) if is_own and leg.state == "sending" else None
