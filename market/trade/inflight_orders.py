"""One order in flight at a time on exchanges without client order ids, at which two similar ones look
alike."""

from collections.abc import Iterable, Mapping

from market.instruments.orders import Side
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Leg, TradeOfLegs

WITHOUT_CLIENT_IDS = frozenset({"bitflyer"})
"""Exchanges that find an order only by its content and time."""

LOOK_BACK = 1_800 * MICROSECONDS
"""Orders of legs that ended so long before a leg's intent, or later, must not be taken for its own: three times as long
as any search for an order looks back."""

_SIDES: tuple[Side, ...] = ("buy", "sell")


def allows_one_in_flight(leg: Leg) -> bool:
    """Whether at most one leg of its symbol and side may be in flight."""
    return leg.exchange in WITHOUT_CLIENT_IDS


def inflight_key(leg: Leg) -> str:
    return inflight_key_of(leg.exchange, leg.symbol, leg.side)


def inflight_keys(opportunity: Opportunity) -> tuple[str, ...]:
    """Return the keys of all legs that it may come to have, unwinding ones included."""
    return inflight_keys_at((one.exchange, one.symbol) for one in (opportunity.buy, opportunity.sell))


def inflight_keys_at(markets: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the keys of both sides of those (exchange, symbol) at which the claim is needed."""
    return tuple(
        inflight_key_of(exchange, symbol, side)
        for exchange, symbol in markets
        if exchange in WITHOUT_CLIENT_IDS
        for side in _SIDES
    )


def inflight_owner(arbitrage_id: str, leg: Leg) -> str:
    """Who has the claim."""
    return f"{arbitrage_id}:{leg.role}"


def orders_of_others(leg: Leg, arbitrages: Iterable[TradeOfLegs]) -> Mapping[str, Leg]:
    """By the exchange's id of its order, the legs other than `leg` that have one there, ended ones too."""
    return {
        one.exchange_order_id: one
        for arbitrage in arbitrages
        for one in arbitrage.legs
        if one.exchange == leg.exchange
        and one.client_order_id != leg.client_order_id
        and one.exchange_order_id is not None
    }


def inflight_key_of(exchange: str, symbol: str, side: Side) -> str:
    """Return the key of whatever is in flight there."""
    return f"{exchange}|{symbol}|{side}"
