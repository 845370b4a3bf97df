"""The order API of an exchange: our own, or the generic one."""

from typing import Any

from exchanges.catalogue import orders_of
from exchanges.ccxt.generic_orders import GenericOrderApi
from exchanges.ccxt.order_quirks import order_quirks
from exchanges.ports.orders import OrderApi
from session.exchange_entries import ExchangeEntry


def order_api(entry: ExchangeEntry, client: Any) -> OrderApi:
    """`client`: of ccxt, not closed by it. Raises KeyError if the exchange has no order API of our own."""
    if entry.is_generic:
        return GenericOrderApi(client, order_quirks(entry.ccxt))
    orders = orders_of(entry.ccxt)
    if orders is None:
        raise KeyError(entry.ccxt)
    return orders.api(client)
