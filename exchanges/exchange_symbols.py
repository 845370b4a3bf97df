"""The exchanges' own names of a market, which orders and order books are asked for by."""

from market.instruments.markets import Market

# Kraken's REST keeps the old names of its oldest assets.
_RENAMED = {"BTC": "XBT", "DOGE": "XDG"}
_OLD_COINS = ("BTC", "ETH", "XRP", "LTC", "XLM", "ETC", "DOGE")
_OLD_CURRENCIES = ("USD", "EUR", "JPY", "GBP")
OLD_NAMES = (*_OLD_COINS, *_OLD_CURRENCIES)
"""Assets whose id at Kraken is not their name."""


def binance_symbol(market: Market) -> str:
    return f"{market.base}{market.quote_currency}"


def bitflyer_product(market: Market) -> str:
    return f"{market.base}_{market.quote_currency}"


def bitstamp_pair(market: Market) -> str:
    return f"{market.base}{market.quote_currency}".lower()


def coinbaseexchange_product(market: Market) -> str:
    return f"{market.base}-{market.quote_currency}"


def kraken_name(asset: str) -> str:
    return _RENAMED.get(asset, asset)


def kraken_asset(asset: str) -> str:
    """Its id: those of the oldest coins begin with X, of currencies with Z."""
    prefix = "X" if asset in _OLD_COINS else "Z" if asset in _OLD_CURRENCIES else ""
    return prefix + kraken_name(asset)


def kraken_pair(market: Market) -> str:
    return kraken_name(market.base) + kraken_name(market.quote_currency)


def kraken_market_id(market: Market) -> str:
    """The id of a pair: XXBTZUSD, USDTZUSD, but SOLUSD and XDGUSD."""
    if market.base not in (*OLD_NAMES, "USDT") or market.base == "DOGE":
        return kraken_pair(market)
    return kraken_asset(market.base) + kraken_asset(market.quote_currency)
