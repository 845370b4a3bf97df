"""Whether an exchange without client ids bears out, by all else that it says, that it never had an order. Pure.

There an order is found only by its content and its date. That none was found says little where a date, a clock or a
rounding is not what we take it for; what an order filled shows in the balances, whatever it is dated.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from market.instruments.orders import AccountFill, OpenOrder, changes_of
from market.money import ZERO, text_of
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.inflight_orders import orders_of_others
from market.trade.reservation_state import BalanceRow, fill_key


@dataclass(frozen=True, slots=True)
class ExchangeView:
    """What the exchange says, asked in this order between two looks at our rows, and what we know by then."""

    rows_before: tuple[BalanceRow, ...]
    balances: Mapping[str, Decimal]
    orders: tuple[OpenOrder, ...]
    fills: tuple[AccountFill, ...]
    """From the leg's intent on, or earlier."""
    arbitrages: tuple[Arbitrage, ...]
    """All with a leg there whose order or fills may be among these."""
    rows_after: tuple[BalanceRow, ...]


def doubt_about(leg: Leg, view: ExchangeView) -> str | None:
    """Why the order of `leg`, which the exchange denies, may be there all the same; None where it cannot.

    Sure only where the exchange's balances are our rows with the fills that are known and not booked yet.
    """
    known = orders_of_others(leg, view.arbitrages)
    for order in view.orders:
        if (order.symbol, order.side) == (leg.symbol, leg.side) and order.exchange_order_id not in known:
            return f"order {order.exchange_order_id}, which rests there, is nobody's"
    for one in view.fills:
        if (one.fill.symbol, one.fill.side) == (leg.symbol, leg.side) and one.exchange_order_id not in known:
            return f"fill {one.fill.fill_id} of order {one.exchange_order_id} is nobody's"
    if view.rows_before != view.rows_after:
        return "our balances moved while the exchange was asked"
    return _difference(leg, view, _unbooked(leg, view, known))


def _difference(leg: Leg, view: ExchangeView, unbooked: Mapping[str, Decimal]) -> str | None:
    rows = {row.currency: row.free + row.held for row in view.rows_after if row.exchange == leg.exchange}
    for currency in (leg.base, leg.quote_currency):
        here = rows.get(currency, ZERO) + unbooked.get(currency, ZERO)
        there = view.balances.get(currency, ZERO)
        if here != there:
            return f"{currency}: {text_of(here)} by our books, {text_of(there)} there"
    return None


def _unbooked(leg: Leg, view: ExchangeView, known: frozenset[str]) -> dict[str, Decimal]:
    """Currency → what fills of known orders moved that no row has yet: of orders that are seen through just now."""
    booked = {fill_key(fill) for one in view.arbitrages for other in one.legs for fill in other.fills}
    moved: dict[str, Decimal] = {}
    for one in view.fills:
        if one.exchange_order_id in known and fill_key(one.fill) not in booked:
            for currency, change in changes_of(one.fill, *_currencies(one.fill.symbol)):
                moved[currency] = moved.get(currency, ZERO) + change
    return moved


def _currencies(symbol: str) -> tuple[str, str]:
    base, _, quote = symbol.partition("/")
    return base, quote


def currencies_moved(fills: Iterable[AccountFill]) -> frozenset[str]:
    """All that these fills moved, what their fees were paid in among them."""
    return frozenset(name for one in fills for name in (*_currencies(one.fill.symbol), one.fill.fee_currency))
