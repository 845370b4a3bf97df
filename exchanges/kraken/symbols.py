"""Kraken's own names of a market, which orders and books are asked for by."""

from market.instruments.markets import Market, codes_in

SYMBOL_CODES = {"BTC": "XXBT", "DOGE": "XXDG", "LUNA": "LUNA2", "LUNC": "LUNA", "USTC": "UST"}
# REST keeps the old names of its oldest assets.
_RENAMED = {"BTC": "XBT", "DOGE": "XDG"}
_OLD_COINS = ("BTC", "ETH", "XRP", "LTC", "XLM", "ETC", "DOGE")
_OLD_CURRENCIES = ("USD", "EUR", "JPY", "GBP")


def kraken_name(code: str) -> str:
    """XBT of BTC, LUNA of LUNC."""
    return _RENAMED.get(code) or SYMBOL_CODES.get(code, code)


def kraken_asset(code: str) -> str:
    """Its id: those of the oldest coins begin with X, of currencies with Z."""
    prefix = "X" if code in _OLD_COINS else "Z" if code in _OLD_CURRENCIES else ""
    return prefix + kraken_name(code)


def kraken_pair(market: Market) -> str:
    return "".join(map(kraken_name, codes_in(market.symbol)))


def kraken_stream_symbol(market: Market) -> str:
    """BTC/USD, but LUNA/USD of LUNC/USD: version 2 of the stream gave up the names of XBT and XDG alone
    (docs.kraken.com, "Spot WebSocket v2")."""
    return "/".join(code if code in _RENAMED else SYMBOL_CODES.get(code, code) for code in codes_in(market.symbol))


def kraken_market_id(market: Market) -> str:
    """Return the id of a pair: XXBTZUSD, USDTZUSD, but SOLUSD and XDGUSD."""
    base, quote = codes_in(market.symbol)
    if base not in (*_OLD_COINS, *_OLD_CURRENCIES, "USDT") or base == "DOGE":
        return kraken_pair(market)
    return kraken_asset(base) + kraken_asset(quote)
