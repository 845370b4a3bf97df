"""What the store says is open against what somebody must still do about it; no bot remembers any of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from market.arbitrages import Arbitrage, Leg


@dataclass(frozen=True, slots=True)
class Due:
    """One thing to do about a leg: `execute` a reserved one, `resolve` one that somebody sent by looking it up,
    `settle` one that ended without the step that follows."""

    what: Literal["execute", "resolve", "settle"]
    arbitrage_id: str
    leg: Leg


def expired_halves(arbitrages: Iterable[Arbitrage], now: int) -> list[Arbitrage]:
    """Half reservations past their time; `now` is the store's, microseconds."""
    return [one for one in arbitrages if one.state == "half_reserved" and now > one.reserve_by]


def due_legs(arbitrages: Iterable[Arbitrage], exchange: str) -> list[Due]:
    """What the bot of `exchange` has to do about the legs of open arbitrages."""
    return [
        due
        for arbitrage in arbitrages
        if arbitrage.state in ("reserved", "single_leg")
        for due in _due_legs(arbitrage, exchange)
    ]


def is_open_at(arbitrages: Iterable[Arbitrage], exchange: str) -> bool:
    """Whether one of these has, or may get, an order on `exchange`."""
    return any(exchange in _exchanges_of(arbitrage) for arbitrage in arbitrages)


def _exchanges_of(arbitrage: Arbitrage) -> set[str]:
    """Of its legs; a half reservation may still get its second leg, where the opportunity has it."""
    exchanges = {leg.exchange for leg in arbitrage.legs}
    if arbitrage.state == "half_reserved":
        exchanges |= {arbitrage.opportunity.buy.exchange, arbitrage.opportunity.sell.exchange}
    return exchanges


def _due_legs(arbitrage: Arbitrage, exchange: str) -> Iterable[Due]:
    """`settle` is due where the hold was not given back, or all legs have ended and the arbitrage has not."""
    all_final = all(leg.is_final for leg in arbitrage.legs)
    for leg in arbitrage.legs:
        if leg.exchange != exchange:
            continue
        if leg.state == "reserved":
            yield Due("execute", arbitrage.arbitrage_id, leg)
        elif leg.state == "sending":
            yield Due("resolve", arbitrage.arbitrage_id, leg)
        elif leg.held != 0 or all_final:
            yield Due("settle", arbitrage.arbitrage_id, leg)
