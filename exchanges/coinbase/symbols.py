"""Coinbase's own names of a market, which orders and books are asked for by."""

from exchanges.ports.symbols import codes_at
from market.instruments.markets import Market

SYMBOL_CODES = {"CELO": "CGLD"}


def coinbase_product(market: Market) -> str:
    return "-".join(codes_at(SYMBOL_CODES, market))
