"""The exchanges' own names of a market, which orders and order books are asked for by: made of the codes in its
symbol, never of the assets that it is compared as."""

from market.instruments.assets import own_code
from market.instruments.markets import Market, codes_in

# Kraken's REST keeps the old names of its oldest assets.
_RENAMED = {"BTC": "XBT", "DOGE": "XDG"}
_OLD_COINS = ("BTC", "ETH", "XRP", "LTC", "XLM", "ETC", "DOGE")
_OLD_CURRENCIES = ("USD", "EUR", "JPY", "GBP")


def binance_symbol(market: Market) -> str:
    return "".join(own_codes("binance", market))


def bitflyer_product(market: Market) -> str:
    return "_".join(own_codes("bitflyer", market))


def bitstamp_pair(market: Market) -> str:
    return "".join(bitstamp_codes(market))


def bitstamp_name(market: Market) -> str:
    """As its lists write a pair: BTC/USD."""
    return "/".join(own_codes("bitstamp", market))


def bitstamp_codes(market: Market) -> tuple[str, str]:
    """As the fields of its transactions are named: btc, usd."""
    base, quote = own_codes("bitstamp", market)
    return base.lower(), quote.lower()


def coinbaseexchange_product(market: Market) -> str:
    return "-".join(own_codes("coinbaseexchange", market))


def kraken_name(code: str) -> str:
    """XBT of BTC, LUNA of LUNC."""
    return _RENAMED.get(code) or own_code("kraken", code)


def kraken_asset(code: str) -> str:
    """Its id: those of the oldest coins begin with X, of currencies with Z."""
    prefix = "X" if code in _OLD_COINS else "Z" if code in _OLD_CURRENCIES else ""
    return prefix + kraken_name(code)


def kraken_pair(market: Market) -> str:
    return "".join(map(kraken_name, codes_in(market.symbol)))


def kraken_stream_symbol(market: Market) -> str:
    """BTC/USD, but LUNA/USD of LUNC/USD: version 2 of the stream gave up the names of XBT and XDG alone
    (docs.kraken.com, "Spot WebSocket v2")."""
    return "/".join(code if code in _RENAMED else own_code("kraken", code) for code in codes_in(market.symbol))


def kraken_market_id(market: Market) -> str:
    """Return the id of a pair: XXBTZUSD, USDTZUSD, but SOLUSD and XDGUSD."""
    base, quote = codes_in(market.symbol)
    if base not in (*_OLD_COINS, *_OLD_CURRENCIES, "USDT") or base == "DOGE":
        return kraken_pair(market)
    return kraken_asset(base) + kraken_asset(quote)


def own_codes(exchange: str, market: Market) -> tuple[str, str]:
    """Return the exchange's own codes of base and quote. `exchange`: ccxt's name, which need not be the session's."""
    base, quote = codes_in(market.symbol)
    return own_code(exchange, base), own_code(exchange, quote)
