"""Bitstamp's own names of a market, which orders and books are asked for by."""

from exchanges.ports.symbols import codes_at
from market.instruments.markets import Market

SYMBOL_CODES = {"USTC": "UST"}


def bitstamp_pair(market: Market) -> str:
    return "".join(bitstamp_codes(market))


def bitstamp_name(market: Market) -> str:
    """As its lists write a pair: BTC/USD."""
    return "/".join(codes_at(SYMBOL_CODES, market))


def bitstamp_codes(market: Market) -> tuple[str, str]:
    """As the fields of its transactions are named: btc, usd."""
    base, quote = codes_at(SYMBOL_CODES, market)
    return base.lower(), quote.lower()
