"""The order API of an exchange: our own, by REST or over a socket, or the generic one."""

from typing import Any

from exchanges.catalogue import facts_of, orders_of
from exchanges.ccxt.generic_orders import GenericOrderApi
from exchanges.ccxt.order_quirks import order_quirks
from exchanges.errors import AccountRejectedError
from exchanges.ports.order_calls import rest_calls
from exchanges.ports.orders import OrderApi
from exchanges.requests.order_socket import OrderSocket, socket_or_rest
from session.exchange_entries import ExchangeEntry


def order_api(entry: ExchangeEntry, client: Any) -> OrderApi:
    """`client`: of ccxt, not closed by it. Raises KeyError if the exchange has no order API of our own."""
    if entry.is_generic:
        return GenericOrderApi(client, order_quirks(entry.ccxt))
    orders = orders_of(entry.ccxt)
    if orders is None:
        raise KeyError(entry.ccxt)
    return orders.api(client)


def order_socket(entry: ExchangeEntry, client: Any) -> OrderSocket | None:
    """Return the socket of the account's orders; None if they go by REST alone. Raises AccountRejectedError if the
    configuration wants a socket and the key cannot have one."""
    facts = None if entry.is_generic else facts_of(entry.ccxt)
    terms = None if facts is None else facts.order_socket
    orders = None if terms is None else orders_of(entry.ccxt)
    if terms is None or orders is None or orders.socket is None or entry.order_transport == "rest":
        return None
    wire = orders.socket.wire(client)
    if wire is None and entry.order_transport == "socket":
        raise AccountRejectedError(
            f'{entry.ccxt}: order_transport = "socket" needs an {terms.key_kind} key, and the account has another '
            'one; make such a key there, or set "rest"'
        )
    return None if wire is None else OrderSocket(client, wire)


def socket_api(entry: ExchangeEntry, client: Any, socket: OrderSocket) -> OrderApi:
    """Return the order API over the socket, and by REST while it is closed. `client`: of ccxt, for REST. Raises
    KeyError if the exchange has none."""
    orders = orders_of(entry.ccxt)
    if orders is None or orders.socket is None:
        raise KeyError(entry.ccxt)
    return orders.socket.api(client, socket_or_rest(socket, rest_calls(client, orders.socket.rest)))
