"""The simulated exchanges: one line each. A folder is named as ccxt names the exchange, and has `terms` (TERMS) and
`gateway` (SIMULATED)."""

from functools import cache
from importlib import import_module
from typing import cast

from simulators.exchange_terms import ExchangeTerms

EXCHANGES = (
    "coinbaseexchange",
    "bitstamp",
    "bitflyer",
    "kraken",
    "binance",
    "bybit",
    "okx",
    "coinbase",
)


@cache
def terms_of(exchange: str) -> ExchangeTerms:
    """Raise KeyError if no such exchange is simulated."""
    if exchange not in EXCHANGES:
        raise KeyError(exchange)
    return cast(ExchangeTerms, import_module(f"simulators.{exchange}.terms").TERMS)
