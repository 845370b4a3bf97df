"""Rows of Coinbase Exchange's REST answers."""

from collections.abc import Sequence

from exchanges.simulated.customer import charged_fee, executed_cost
from exchanges.simulated.gateway import iso_text
from exchanges.simulated.listings import Listing, fixed_text
from exchanges.simulated.records import CustomerFill, CustomerOrder


def order_row(order: CustomerOrder, fills: Sequence[CustomerFill], market_id: str) -> dict[str, object]:
    row: dict[str, object] = {
        "id": order.order_id,
        "product_id": market_id,
        "side": order.side,
        "type": "market" if order.price is None else "limit",
        "size": fixed_text(order.amount, 8),
        "time_in_force": "IOC" if order.immediate else "GTC",
        "post_only": False,
        "created_at": iso_text(order.placed_at),
        "fill_fees": fixed_text(charged_fee(fills), 16),
        "filled_size": fixed_text(order.filled, 8),
        "executed_value": fixed_text(executed_cost(fills), 16),
        "status": status_of(order),
        "settled": order.state != "open",
    }
    if order.price is not None:
        row["price"] = fixed_text(order.price, 8)
    if order.client_order_id:
        row["client_oid"] = order.client_order_id
    if order.ended_at is not None:
        row["done_at"] = iso_text(order.ended_at)
        row["done_reason"] = "filled" if order.state == "done" else "canceled"
    return row


def status_of(order: CustomerOrder) -> str:
    return "open" if order.state == "open" else "done"


def fill_row(fill: CustomerFill, market_id: str) -> dict[str, object]:
    return {
        "trade_id": fill.number,
        "order_id": fill.order_id,
        "product_id": market_id,
        "side": fill.side,
        "price": fixed_text(fill.price, 8),
        "size": fixed_text(fill.amount, 8),
        "fee": fixed_text(fill.fee, 16),
        "usd_volume": fixed_text(fill.cost, 16),
        "liquidity": "T" if fill.liquidity == "taker" else "M",
        "settled": True,
        "created_at": iso_text(fill.filled_at),
    }


def product_row(listing: Listing) -> dict[str, object]:
    market = listing.market
    return {
        "id": listing.market_id,
        "base_currency": market.base,
        "quote_currency": market.quote_currency,
        "base_min_size": format(market.minimum_amount, "f"),
        "quote_increment": format(market.tick_size, "f"),
        "base_increment": format(market.lot_step, "f"),
        "display_name": f"{market.base}/{market.quote_currency}",
        "min_market_funds": format(market.minimum_notional, "f"),
        "margin_enabled": False,
        "post_only": False,
        "limit_only": False,
        "cancel_only": False,
        "trading_disabled": False,
        "status": "online",
        "status_message": "",
        "auction_mode": False,
    }
