"""What Bitstamp's stream says of a trade, of an order of the account, and of the account's part in a trade."""

from collections.abc import Iterable

from exchanges.simulated.bitstamp_rows import trade_id
from exchanges.simulated.digits import plain
from exchanges.simulated.listings import fixed_text
from exchanges.simulated.records import CustomerFill, CustomerOrder, PublicTrade
from market.clock import MICROSECONDS
from market.money import ZERO

_SUBTYPES = {"limit": 0, "market": 2, "ioc": 4}
_HOUSE_ORDER = 1_000_000


def public_trade(trade: PublicTrade, fills: Iterable[CustomerFill]) -> dict[str, object]:
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


def order_event(order: CustomerOrder, now: int) -> dict[str, object]:
    """An order as it stands; `amount` is what is left of it. `now`: when that came about, in microseconds."""
    kind = "limit" if not order.immediate else "market" if order.price is None else "ioc"
    price = order.price if order.price is not None else ZERO
    event: dict[str, object] = {
        "id": int(order.order_id),
        "id_str": order.order_id,
        "order_type": 0 if order.side == "buy" else 1,
        "order_subtype": _SUBTYPES[kind],
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


def my_trade(fill: CustomerFill, order: CustomerOrder) -> dict[str, object]:
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
