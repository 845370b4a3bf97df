"""Confirms from balances, open orders and fills that an exchange without client order ids never had an order. Pure.

Such an exchange finds an order only by content and date, so a failed look-up proves little if a date, a clock or a
rounding differs. What an order filled shows in the balances in any case.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from market.instruments.orders import AccountFill, OpenOrder, changes_of
from market.money import ZERO, text_of
from market.trade.arbitrages import Leg, TradeOfLegs
from market.trade.inflight_orders import orders_of_others
from market.trade.reservation_state import BalanceRow, fill_key


@dataclass(frozen=True, slots=True)
class ExchangeView:
    """The exchange's state, read in this order between two reads of our rows, and the arbitrages known by then."""

    rows_before: tuple[BalanceRow, ...]
    balances: Mapping[str, Decimal]
    orders: tuple[OpenOrder, ...]
    fills: tuple[AccountFill, ...]
    """From the leg's intent on, or earlier."""
    arbitrages: tuple[TradeOfLegs, ...]
    """All with a leg there whose order or fills may be among these."""
    rows_after: tuple[BalanceRow, ...]


def doubt_about(leg: Leg, view: ExchangeView) -> str | None:
    """Why the order of `leg` may exist although the exchange does not find it; None if it certainly does not.

    Certain only if the exchange's balances equal our rows plus the known fills that are not booked yet.
    """
    known = orders_of_others(leg, view.arbitrages)
    for order in view.orders:
        if (order.symbol, order.side) == (leg.symbol, leg.side) and order.exchange_order_id not in known:
            return f"order {order.exchange_order_id}, which rests there, belongs to no leg"
    for one in view.fills:
        if (one.fill.symbol, one.fill.side) == (leg.symbol, leg.side) and one.exchange_order_id not in known:
            return f"fill {one.fill.fill_id} of order {one.exchange_order_id} belongs to no leg"
    if view.rows_before != view.rows_after:
        return "our balances changed during the request"
    return _difference(leg, view, _unbooked(leg, view, known))


def _difference(leg: Leg, view: ExchangeView, unbooked: Mapping[str, Decimal]) -> str | None:
    rows = {row.currency: row.free + row.held for row in view.rows_after if row.exchange == leg.exchange}
    for currency in (leg.base, leg.quote_currency):
        here = rows.get(currency, ZERO) + unbooked.get(currency, ZERO)
        there = view.balances.get(currency, ZERO)
        if here != there:
            return f"{currency}: {text_of(here)} in our books, {text_of(there)} at the exchange"
    return None


def _unbooked(leg: Leg, view: ExchangeView, known: Mapping[str, Leg]) -> dict[str, Decimal]:
    """Currency → what fills of known orders moved that no row has yet: of orders being processed right now."""
    booked = {fill_key(fill) for one in view.arbitrages for other in one.legs for fill in other.fills}
    moved: dict[str, Decimal] = {}
    for one in view.fills:
        of = known.get(one.exchange_order_id)
        if of is not None and fill_key(one.fill) not in booked:
            for currency, change in changes_of(one.fill, of.base, of.quote_currency):
                moved[currency] = moved.get(currency, ZERO) + change
    return moved
