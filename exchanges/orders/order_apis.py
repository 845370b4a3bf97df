"""The order API of an exchange: our own, or the generic one."""

from collections.abc import Callable, Mapping
from typing import Any

from exchanges.generic.generic_orders import GenericOrderApi
from exchanges.generic.order_quirks import order_quirks
from exchanges.order_port import OrderApi
from exchanges.orders.binance import BinanceOrderApi
from exchanges.orders.bitflyer import BitflyerOrderApi
from exchanges.orders.bitstamp import BitstampOrderApi
from exchanges.orders.coinbaseexchange import CoinbaseExchangeOrderApi
from exchanges.orders.kraken import KrakenOrderApi
from session.exchange_entries import ExchangeEntry

_ORDER_APIS: Mapping[str, Callable[[Any], OrderApi]] = {
    "coinbaseexchange": CoinbaseExchangeOrderApi,
    "bitstamp": BitstampOrderApi,
    "bitflyer": BitflyerOrderApi,
    "kraken": KrakenOrderApi,
    "binance": BinanceOrderApi,
}


def order_api(entry: ExchangeEntry, client: Any) -> OrderApi:
    """`client`: of ccxt, not closed by it."""
    if entry.is_generic:
        return GenericOrderApi(client, order_quirks(entry.ccxt))
    return _ORDER_APIS[entry.ccxt](client)
