"""bitFlyer's private channel `child_order_events`: one message per step of the account's orders."""

from market.money import ZERO
from simulators.bitflyer.bitflyer_rows import Row, expiry_of, order_id, stream_time
from simulators.matching.order_records import SimulatedAccountEvent, SimulatedFill, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.json_digits import plain


def event_row(exchange: SimulatedExchange, event: SimulatedAccountEvent) -> Row | None:
    """None where bitFlyer sends no message: a filled order is known from its last execution."""
    order = event.order
    if event.kind == "opened":
        return {**_named(exchange, order, order.placed_at, "ORDER"), **_terms(order)}
    if event.fill is not None:
        return {**_named(exchange, order, event.fill.filled_at, "EXECUTION"), **_executed(order, event.fill)}
    if order.state != "cancelled":
        return None
    when = order.ended_at or order.placed_at
    if order.immediate:
        return _named(exchange, order, when, "EXPIRE")
    size = {"price": plain(order.price or ZERO), "size": plain(order.remaining)}
    return {**_named(exchange, order, when, "CANCEL"), "side": order.side.upper(), **size}


def _named(exchange: SimulatedExchange, order: SimulatedOrder, micros: int, kind: str) -> Row:
    return {
        "product_code": exchange.listings[order.symbol].market_id,
        "child_order_id": order_id(order.order_id),
        "child_order_acceptance_id": order.order_id,
        "event_date": stream_time(micros),
        "event_type": kind,
    }


def _terms(order: SimulatedOrder) -> Row:
    return {
        "child_order_type": "MARKET" if order.price is None else "LIMIT",
        "side": order.side.upper(),
        "price": plain(order.price or ZERO),
        "size": plain(order.amount),
        "expire_date": stream_time(expiry_of(order))[:19],
    }


def _executed(order: SimulatedOrder, fill: SimulatedFill) -> Row:
    return {
        "exec_id": int(fill.fill_id),
        "side": fill.side.upper(),
        "price": plain(fill.price),
        "size": plain(fill.amount),
        "commission": plain(fill.fee),
        "sfd": plain(ZERO),
        "outstanding_size": plain(order.remaining),
    }
