"""Maps third-party names of exchanges and symbols to ours."""

import re
from pathlib import Path

from datasets.rows.import_format import FileOptions
from datasets.rows.quote_rows import reject
from market.instruments.assets import asset_of

_EXCHANGES = {
    "coinbase": "coinbaseexchange",
    "coinbase-exchange": "coinbaseexchange",
    "cbse": "coinbaseexchange",
    "krkn": "kraken",
    "stmp": "bitstamp",
    "bfly": "bitflyer",
    "bnce": "binance",
    "bfnx": "bitfinex",
    "binance-futures": "binanceusdm",
    "binance-delivery": "binancecoinm",
    "okex": "okx",
    "bybit-spot": "bybit",
    "huobi": "htx",
}
_CODES = {"XBT": "BTC", "XXBT": "BTC", "XDG": "DOGE", "XXDG": "DOGE"}
"""Kraken's and BitMEX's old codes of coins whose common name is another."""
_QUOTED_IN = ("USDT", "USDC", "FDUSD", "BUSD", "TUSD", "USD", "EUR", "GBP", "JPY", "KRW", "BTC", "ETH", "BNB")
"""Quote currencies of symbols without a separator; the longer ones first."""


def our_exchange(name: str) -> str:
    plain = name.strip().lower()
    return _EXCHANGES.get(plain, plain)


def our_symbol(path: Path, exchange: str, name: str) -> str:
    """BTCUSDT, btc-usdt, BTC_USDT or XBT/USD as BTC/USDT or BTC/USD; a contract as BTC/USDT:USDT, BTC/USD:BTC.

    Raises ImportRejectedError where it is not plain what the name means.
    """
    text = name.strip().upper()
    if exchange == "binancecoinm":
        text = text.removesuffix("_PERP")
    base, quote = _parts(text)
    if not base or not quote:
        reject(path, None, f"it is not plain which pair {name} is; set it, for example --symbol BTC/USD")
    pair = f"{_CODES.get(base, base)}/{_CODES.get(quote, quote)}"
    if exchange == "binanceusdm":
        return f"{pair}:{quote}"
    return f"{pair}:{base}" if exchange == "binancecoinm" else pair


def _parts(text: str) -> tuple[str, str]:
    words = re.split(r"[-_/]", text)
    if len(words) == 2:
        return words[0], words[1]
    if len(words) == 1:
        for quote in _QUOTED_IN:
            if text.endswith(quote) and len(text) > len(quote):
                return text.removesuffix(quote), quote
    return "", ""


def named_market(path: Path, options: FileOptions) -> tuple[str, str]:
    """(exchange, symbol) where the file does not say them. Raises ImportRejectedError."""
    if options.exchange is None:
        reject(path, None, "does not say which exchange it is from; set it, for example --exchange kraken")
    if options.symbol is None:
        reject(path, None, "does not say which symbol it is about; set it, for example --symbol BTC/USD")
    return options.exchange, options.symbol


def is_currency_pair(exchange: str, symbol: str) -> bool:
    """Do both sides settle trades? Then it is an FX rate."""
    base, _, quote = symbol.partition(":")[0].partition("/")
    return all(_is_currency(exchange, code) for code in (base, quote))


def _is_currency(exchange: str, code: str) -> bool:
    # known on any exchange with our own names: files of rates come from brokers that nobody has listed
    asset = asset_of(exchange, code) or asset_of("bitstamp", code) or asset_of("bitflyer", code)
    return asset is not None and asset.kind in ("fiat", "stable coin")
