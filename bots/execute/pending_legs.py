"""What the store says is open against what somebody must still do about it; no bot remembers any of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from market.trade.arbitrages import Arbitrage, Leg
from market.trade.leg_planning import Markets


@dataclass(frozen=True, slots=True)
class PendingLeg:
    """One thing to do about a leg: `execute` a reserved one, `resolve` one that somebody sent by looking it up,
    `settle` one that ended without the step that follows; whose ever it is, `lapse` one that was not sent in time and
    `abandon` one whose market this session has not."""

    what: Literal["execute", "resolve", "settle", "lapse", "abandon"]
    arbitrage_id: str
    leg: Leg


def expired_awaiting_second_leg(arbitrages: Iterable[Arbitrage], now: int) -> list[Arbitrage]:
    """Half reservations past their time; `now` is the store's, microseconds."""
    return [one for one in arbitrages if one.state == "awaiting_second_leg" and now > one.reserve_by]


def due_legs(arbitrages: Iterable[Arbitrage], exchange: str, markets: Markets, now: int) -> list[PendingLeg]:
    """What the bot of `exchange` has to do about the legs of open arbitrages; `now` is the store's, microseconds."""
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
    """Whether one of these has a leg on `exchange`, in whatever state; a half reservation of others has none yet."""
    return any(leg.exchange == exchange for arbitrage in arbitrages for leg in arbitrage.legs)


def is_in_flight_at(arbitrages: Iterable[Arbitrage], exchange: str) -> bool:
    """Whether one of these has a leg on `exchange` that has not ended: only the account there can look it up."""
    return any(leg.exchange == exchange and not leg.is_final for one in arbitrages for leg in one.legs)


def _exchanges_of(arbitrage: Arbitrage) -> set[str]:
    """Of its legs; a half reservation may still get its second leg, where the opportunity has it."""
    exchanges = {leg.exchange for leg in arbitrage.legs}
    if arbitrage.state == "awaiting_second_leg":
        exchanges |= {arbitrage.opportunity.buy.exchange, arbitrage.opportunity.sell.exchange}
    return exchanges


def _due(arbitrage: Arbitrage, leg: Leg, exchange: str, markets: Markets, now: int) -> PendingLeg | None:
    """`settle` is due where the hold was not given back, or all legs have ended and the arbitrage has not.

    What is another's is left to it until `send_by`; to look an order up takes its own exchange's account for ever.
    """
    is_unsettled = leg.is_final and (leg.held != 0 or all(one.is_final for one in arbitrage.legs))
    is_late = now > arbitrage.send_by
    identity = arbitrage.arbitrage_id
    if (leg.exchange, leg.symbol) not in markets:
        return PendingLeg("abandon", identity, leg) if is_late and (is_unsettled or not leg.is_final) else None
    is_own = leg.exchange == exchange
    if is_unsettled:
        return PendingLeg("settle", identity, leg) if is_own or is_late else None
    if leg.state == "reserved":
        # also what is our own: while the exchange rejects the account, nothing is executed
        return (
            PendingLeg("lapse", identity, leg) if is_late else PendingLeg("execute", identity, leg) if is_own else None
        )
    return PendingLeg("resolve", identity, leg) if is_own and leg.state == "sending" else None
