"""What ccxt offers on each simulated exchange: the suite's own expectation, so that no test drops out silently."""

import ccxt
import pytest

from simulators.catalogue import EXCHANGES

_EVERYWHERE = (
    "fetchTicker",
    "fetchOrderBook",
    "fetchTrades",
    "fetchBalance",
    "createOrder",
    "cancelOrder",
    "fetchOrder",
    "fetchOpenOrders",
    "fetchMyTrades",
)
_STREAMS = ("watchOrderBook", "watchTrades", "watchTicker", "watchOrders", "watchMyTrades")

ABILITIES: dict[str, tuple[str, ...]] = {
    "coinbaseexchange": (*_EVERYWHERE, "fetchTradingFees", *_STREAMS),
    "bitstamp": (
        *_EVERYWHERE,
        "fetchTradingFee",
        "fetchTradingFees",
        "watchOrderBook",
        "watchTrades",
        "watchOrders",
        "watchMyTrades",
    ),
    # ccxt streams nothing of bitFlyer
    "bitflyer": (*_EVERYWHERE, "fetchTradingFee"),
    "kraken": (*_EVERYWHERE, "fetchTradingFee", *_STREAMS),
    "binance": (*_EVERYWHERE, "fetchTradingFee", "fetchTradingFees", *_STREAMS),
    "bybit": (*_EVERYWHERE, "fetchTradingFee", "fetchTradingFees", *_STREAMS),
    "okx": (*_EVERYWHERE, "fetchTradingFee", *_STREAMS),
    "coinbase": (
        *_EVERYWHERE,
        "fetchTradingFee",
        "fetchTradingFees",
        "watchOrderBook",
        "watchTrades",
        "watchTicker",
        "watchOrders",
    ),
}
"""ccxt's names of what it has, of those that the suite tries."""

TRIED = tuple(dict.fromkeys(name for names in ABILITIES.values() for name in names))

IN_NAME: dict[str, tuple[str, ...]] = {
    # fees of all markets it asks for without the category that the exchange wants, and says no for spot; the stream's
    # ticker of spot has no best prices
    "bybit": ("fetchTradingFees", "watchTicker"),
    # of streamed orders it takes what has filled for the amount
    "coinbase": ("watchOrders",),
}
"""What ccxt says that it has and the exchange does not answer, or not with all that the suite looks at."""

CANDLES = ("coinbaseexchange", "bitstamp", "kraken", "binance", "bybit", "okx")
"""Exchanges that have candles, which ccxt asks for by no clock of its own; bitFlyer has none."""
STREAMED_CANDLES = ("kraken", "binance")
"""Exchanges whose candles ccxt streams."""

CLIENT_IDS = ("coinbaseexchange", "bitstamp", "kraken", "binance", "bybit", "okx")
"""Exchanges on which ccxt gives orders an id of the client's own; bitFlyer knows none, and for Coinbase Advanced ccxt
makes one."""

NO_HYPHENS = ("okx",)
"""Exchanges that take letters and digits alone in such an id."""

FEES_AS_STREAMED = ("okx",)
"""Exchanges whose streamed fees ccxt leaves as they are, negative if they are charged; those of REST it turns round."""

IMMEDIATE: dict[str, dict[str, str]] = {
    "coinbaseexchange": {"timeInForce": "IOC"},
    "bitstamp": {"ioc_order": "True"},
    "bitflyer": {"time_in_force": "IOC"},
    "kraken": {"timeInForce": "IOC"},
    "binance": {"timeInForce": "IOC"},
    "bybit": {"timeInForce": "IOC"},
    "okx": {"timeInForce": "IOC"},
    "coinbase": {"timeInForce": "IOC"},
}
"""Parameters by which ccxt cancels what does not fill at once."""


TICKER: dict[str, dict[str, str]] = {"binance": {"name": "ticker"}}
"""Parameters by which ccxt watches a ticker with best prices, if it would otherwise take one without."""

OPTIONS: dict[str, dict[str, object]] = {
    # it knows derivatives, and asks for them unless it is told; it reads an order of unified accounts only if one knows
    # that older ones than the last 500 are not found. A request is good for half as long as on Binance by default: too
    # short for a clock that stands still
    # by default it asks an older interface for balances, which knows no holds
    "coinbase": {"fetchBalance": "v3PrivateGetBrokerageAccounts"},
    "bybit": {"defaultType": "spot", "fetchOrder": {"acknowledged": True}, "recvWindow": 10_000},
}
"""What else ccxt's constructor needs to trade spot there."""

TOO_SMALL: dict[str, type[ccxt.BaseError]] = {
    "bitflyer": ccxt.ExchangeError,
    "binance": ccxt.BadRequest,
    "coinbase": ccxt.ExchangeError,
}
"""ccxt's error for an order that is too small, if that is no InvalidOrder."""


def on(*exchanges: str) -> pytest.MarkDecorator:
    """Run a test that takes a `bench` on each of these exchanges."""
    return pytest.mark.parametrize("bench", exchanges, indirect=True)


def having(ability: str) -> pytest.MarkDecorator:
    """Run a test that takes a `bench` on each exchange where ccxt has `ability`."""
    has = {exchange: set(ABILITIES[exchange]) - set(IN_NAME.get(exchange, ())) for exchange in EXCHANGES}
    return on(*(exchange for exchange in EXCHANGES if ability in has[exchange]))


everywhere = on(*EXCHANGES)
