"""The exchanges' own names of a market, which orders and order books are asked for by."""

from market.instruments.markets import Market

# Kraken's REST keeps the old names of these assets.
_KRAKEN_ASSETS = {"BTC": "XBT", "DOGE": "XDG"}


def binance_symbol(market: Market) -> str:
    return f"{market.base}{market.quote_currency}"


def bitflyer_product(market: Market) -> str:
    return f"{market.base}_{market.quote_currency}"


def bitstamp_pair(market: Market) -> str:
    return f"{market.base}{market.quote_currency}".lower()


def coinbaseexchange_product(market: Market) -> str:
    return f"{market.base}-{market.quote_currency}"


def kraken_pair(market: Market) -> str:
    return "".join(_KRAKEN_ASSETS.get(name, name) for name in (market.base, market.quote_currency))
