"""Messages of Bitstamp's stream: trades, the account's orders, and the account's trades."""

from collections.abc import Iterable

from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.bitstamp.bitstamp_rows import trade_id
from simulators.matching.listings import fixed_text
from simulators.matching.order_records import PublicTrade, SimulatedFill, SimulatedOrder
from simulators.web.json_digits import plain

_LIMIT, _MARKET, _IMMEDIATE, _WHOLE = 0, 2, 4, 6
"""The stream's names of order types."""
_HOUSE_ORDER = 1_000_000


def public_trade(trade: PublicTrade, fills: Iterable[SimulatedFill]) -> dict[str, object]:
    """Numbers and texts of the same; `type` is the taker's side. `fills`: the account's part in it."""
    orders = {"buy": trade.number * _HOUSE_ORDER, "sell": trade.number * _HOUSE_ORDER + 1}
    orders |= {fill.side: int(fill.order_id) for fill in fills}
    number = trade_id(trade.number)
    return {
        "id": number,
        "id_str": str(number),
        "timestamp": str(trade.traded_at // MICROSECONDS),
        "amount": plain(trade.amount),
        "amount_str": fixed_text(trade.amount, 8),
        "price": plain(trade.price),
        "price_str": format(trade.price, "f"),
        "type": 0 if trade.side == "buy" else 1,
        "microtimestamp": str(trade.traded_at),
        "buy_order_id": orders["buy"],
        "sell_order_id": orders["sell"],
    }


def order_event(order: SimulatedOrder, now: int) -> dict[str, object]:
    """An order as it stands; `amount` is what is left of it. `now`: when that came about, in microseconds."""
    price = order.price if order.price is not None else ZERO
    event: dict[str, object] = {
        "id": int(order.order_id),
        "id_str": order.order_id,
        "order_type": 0 if order.side == "buy" else 1,
        "order_subtype": _subtype(order),
        "datetime": str(now // MICROSECONDS),
        "microtimestamp": str(now),
        "amount": plain(order.remaining),
        "amount_str": fixed_text(order.remaining, 8),
        "amount_traded": fixed_text(order.filled, 8),
        "amount_at_create": fixed_text(order.amount, 8),
        "price": plain(price),
        "price_str": format(price, "f"),
        "is_liquidation": False,
        "trade_account_id": 0,
    }
    if order.client_order_id:
        event["client_order_id"] = order.client_order_id
    return event


def _subtype(order: SimulatedOrder) -> int:
    if order.price is None:
        return _MARKET
    return _WHOLE if order.whole else _IMMEDIATE if order.immediate else _LIMIT


def my_trade(fill: SimulatedFill, order: SimulatedOrder) -> dict[str, object]:
    event: dict[str, object] = {
        "id": int(fill.fill_id),
        "amount": fixed_text(fill.amount, 8),
        "price": format(fill.price, "f"),
        "microtimestamp": str(fill.filled_at),
        "fee": format(fill.fee, "f"),
        "order_id": fill.order_id,
        "trade_account_id": 0,
        "side": fill.side,
    }
    if order.client_order_id:
        event["client_order_id"] = order.client_order_id
    return event
