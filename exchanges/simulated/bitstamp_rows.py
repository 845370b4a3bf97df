"""Rows of Bitstamp's REST answers."""

from collections.abc import Sequence

from exchanges.simulated.gateway import iso_text
from exchanges.simulated.listings import Listing, fixed_text
from exchanges.simulated.records import CustomerFill, CustomerOrder

_STATES = {"open": "Open", "done": "Finished", "cancelled": "Canceled"}


def market_row(listing: Listing) -> dict[str, object]:
    market = listing.market
    return {
        "name": market.symbol,
        "market_symbol": listing.market_id,
        "base_currency": market.base,
        "counter_currency": market.quote_currency,
        "base_decimals": 8,
        "counter_decimals": listing.price_decimals,
        "minimum_order_value": str(market.minimum_notional),
        "maximum_order_value": "30000000.00",
        "minimum_order_amount": "0.00000001",
        "trading": "Enabled",
        "instant_order_counter_decimals": 2,
        "instant_and_market_orders": "Enabled",
        "market_type": "SPOT",
        "description": f"{market.base} / {market.quote_currency}",
    }


def order_row(order: CustomerOrder) -> dict[str, object]:
    row: dict[str, object] = {
        "id": order.order_id,
        "market": order.symbol,
        "datetime": iso_text(order.placed_at, " ", ""),
        "type": "0" if order.side == "buy" else "1",
        "price": "0" if order.price is None else fixed_text(order.price, 2),
        "amount": fixed_text(order.amount, 8),
    }
    if order.client_order_id:
        row["client_order_id"] = order.client_order_id
    return row


def open_order_row(order: CustomerOrder) -> dict[str, object]:
    amounts = {"amount": fixed_text(order.remaining, 8), "amount_at_create": fixed_text(order.amount, 8)}
    return {**order_row(order), **amounts, "currency_pair": order.symbol}


def status_row(order: CustomerOrder, fills: Sequence[CustomerFill], listing: Listing) -> dict[str, object]:
    """State and all fills in one answer."""
    row: dict[str, object] = {
        "status": _STATES[order.state],
        "id": int(order.order_id),
        "market": order.symbol,
        "datetime": iso_text(order.placed_at, " ", ""),
        "amount_remaining": fixed_text(order.remaining, 8),
        "transactions": [_fill_row(fill, listing) for fill in fills],
    }
    if order.client_order_id:
        row["client_order_id"] = order.client_order_id
    return row


def transaction_row(fill: CustomerFill, listing: Listing) -> dict[str, object]:
    """Of the account's ledger: signed, positive is what came in."""
    base, quote = _names(listing)
    sign = 1 if fill.side == "buy" else -1
    return {
        "id": int(fill.fill_id),
        "datetime": iso_text(fill.filled_at, " ", ""),
        "type": "2",
        "order_id": int(fill.order_id),
        "fee": fixed_text(fill.fee, 5),
        base: fixed_text(sign * fill.amount, 8),
        quote: fixed_text(-sign * fill.cost, 2),
        f"{base}_{quote}": fixed_text(fill.price, 2),
    }


def _fill_row(fill: CustomerFill, listing: Listing) -> dict[str, object]:
    base, quote = _names(listing)
    return {
        "tid": int(fill.fill_id),
        "price": fixed_text(fill.price, 8),
        base: fixed_text(fill.amount, 8),
        quote: fixed_text(fill.cost, 8),
        "fee": fixed_text(fill.fee, 8),
        "datetime": iso_text(fill.filled_at, " ", ""),
        "type": 2,
    }


def _names(listing: Listing) -> tuple[str, str]:
    return listing.market.base.lower(), listing.market.quote_currency.lower()
