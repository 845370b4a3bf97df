"""The order API of an exchange: our own, or the generic one."""

from collections.abc import Callable, Mapping
from typing import Any

from exchanges.binance.orders import BinanceOrderApi
from exchanges.bitflyer.orders import BitflyerOrderApi
from exchanges.bitstamp.orders import BitstampOrderApi
from exchanges.ccxt.order_quirks import order_quirks
from exchanges.ccxt.orders import GenericOrderApi
from exchanges.coinbaseexchange.orders import CoinbaseExchangeOrderApi
from exchanges.kraken.orders import KrakenOrderApi
from exchanges.ports.orders import OrderApi
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
