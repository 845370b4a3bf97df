"""Binance's own names of a market, which orders and books are asked for by."""

from exchanges.ports.symbols import codes_at
from market.instruments.markets import Market


def binance_symbol(market: Market) -> str:
    return "".join(codes_at("binance", market))
